"""Older releases of the Python SDK talk to the server: two programs, run by each release in an environment of its own.

1.12.0 is the last release with `create_from_function`, `upsert_from_function`, `add` and `BaseTool`; 0.1.324 is the last of the
line that most guides were written for. `make engines` fetches them, pinned by the locks beside the program.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.compat.conftest import serving_embedded
from tests.support.provider_servers import ScriptedOpenAI
from tools.engines import OLDER_PYTHON_CLIENTS, PYTHON_CLIENTS, Engine

GUARD = Path(__file__).parents[1] / "quickstart" / "guard"
PATIENCE = 120.0
"""Seconds after which the program is stuck."""
TOLD = ["tool_call_message", "tool_return_message", "assistant_message"]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with ScriptedOpenAI() as provider, serving_embedded(tmp_path / "data", provider) as served:
        yield served.url


def story(client: Engine, url: str, program: str = "story.py") -> Any:
    """What the program saw. Its environment has the SDK alone, and reaches this machine only."""
    if not client.is_installed():
        pytest.fail(f"letta-client {client.version} is not installed: run `make engines`")
    command = [client.folder / "venv" / "bin" / "python", PYTHON_CLIENTS / program, url]
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(GUARD)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("client", OLDER_PYTHON_CLIENTS, ids=lambda client: client.version)
def test_its_users_first_program_runs_as_it_was_written(client: Engine, url: str) -> None:
    seen = story(client, url)
    assert seen.pop("streamed")[-3:] == ["assistant_message", "stop_reason", "usage_statistics"]
    assert "Rex" in seen.pop("human")
    assert {"hibernaut/demo", "openai/test-model"} <= set(seen.pop("models"))
    assert seen == {
        "first": TOLD,
        "persona": "I am patient.",
        "log": ["system_message", "user_message", *TOLD, "user_message", "assistant_message"],
        "function": ["cheer", True, ["name"]],
        "added": ["whistle", ["times"]],
        "attached": True,
        "passages": [1, "The spare key hangs behind the clock."],
        "renamed": "renamed",
        "agents": ["renamed"],
        "runs": 2,
        "left": 0,
    }


@pytest.mark.parametrize("client", OLDER_PYTHON_CLIENTS, ids=lambda client: client.version)
def test_its_users_later_work_goes_on(client: Engine, url: str) -> None:
    templates = {"templates": [["first", "1", True], ["second", "1", False]]} if client.version.startswith("0.1.") else {}
    assert story(client, url, "work.py") == templates | {
        "approvals": [
            ["approval_request_message", "requires_approval", "assistant_message"],
            ["approval_request_message", "requires_approval", "assistant_message"],
        ],
        "background": ["user_message", "assistant_message"],
        "tokens": True,
        "files": ["papers/ferry.txt"],
        "shared": "Work.",
        "history": 60,
        "copy": "worker_copy",
    }


@pytest.mark.parametrize("client", OLDER_PYTHON_CLIENTS, ids=lambda client: client.version)
def test_its_lock_pins_by_hash_and_names_no_index(client: Engine) -> None:
    text = (PYTHON_CLIENTS / f"{client.version}.lock").read_text(encoding="utf-8")
    assert f"letta-client=={client.version}" in text
    entries = re.split(r"\n(?=\S)", text.strip())
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in text
