"""Runs small programs of users of JavaScript packages, as they lie in their projects."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.engines import Engine

PATIENCE = 120.0
"""Seconds after which a program is stuck."""


def modules_of(engine: Engine) -> Path:
    """Where the packages are. Skips where there is no Node or npm, and fails where they are there and the packages are not."""
    if missing := engine.missing_programs():
        pytest.skip(f"{engine.name} needs {' and '.join(missing)}")
    if not engine.is_installed():
        pytest.fail(f"{engine.name} is not installed: run `make engines`")
    return engine.folder / "node_modules"


def ran(program: Path, modules: Path, place: Path, *arguments: str, heard: Callable[[], None] | None = None) -> Any:
    """What the program printed last; `heard` is called for each line before. It lies beside `node_modules`, as in its user's
    project.
    """
    shutil.copy2(program, place)
    (place / "node_modules").symlink_to(modules, target_is_directory=True)
    told = "null"
    with (place / "errors").open("w+") as errors:
        command = ["node", program.name, *arguments]
        process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=errors, text=True)
        stuck = threading.Timer(PATIENCE, process.kill)
        stuck.start()
        with process:
            for told in process.stdout or ():
                if heard is not None and json.loads(told) == "heard":
                    heard()
        stuck.cancel()
        assert process.returncode == 0, (place / "errors").read_text()
    return json.loads(told)
