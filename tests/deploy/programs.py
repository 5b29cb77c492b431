"""The programs of the check: the emulator on Lambda's Python, and the CDK's command line on the Node of the development set.

Knows: how they are installed, by the locks in `requirements/emulator.lock` and beside this module. Must not know: what is
deployed.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from infra.app import node_folder
from infra.artifacts import PYTHON, ROOT
from infra.byte_code import python_of
from tools.engines import Engine, provide, run

LOCK = ROOT / "requirements" / "emulator.lock"
CDK_FILES = Path(__file__).parent / "cdk"


class NotInstalled(Exception):
    """A program of the check cannot be installed; the message says why."""


def _install_emulator(folder: Path, version: str) -> None:
    """Install the lock into a virtual environment of Lambda's Python, on which the functions run as well."""
    run(str(python_of(PYTHON)), "-m", "venv", "venv", inside=folder)
    options = ["--quiet", "--disable-pip-version-check", "--require-hashes"]
    run("venv/bin/python", "-m", "pip", "install", *options, "-r", str(LOCK), inside=folder)


def _install_cdk(folder: Path, version: str) -> None:
    """Install the command line by npm. The lock has a hash and no address: npm's configuration names the registry."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy2(CDK_FILES / name, folder)
    npm = node_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    run(str(node()), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", inside=folder)


def node() -> Path:
    """The Node of the development set, on which the command line runs."""
    return node_folder() / "bin" / "node"


def _emulator_version() -> str:
    found = re.search(r"^ministack==(\S+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, f"{LOCK} has no ministack"
    return found[1]


EMULATOR = Engine(
    name="ministack",
    version=_emulator_version(),
    needs=(),
    install=_install_emulator,
    serves="the rehearsal of deployments",
)
CDK = Engine(
    name="aws-cdk",
    version=json.loads((CDK_FILES / "package.json").read_text(encoding="utf-8"))["dependencies"]["aws-cdk"],
    needs=(),
    install=_install_cdk,
    serves="the rehearsal of deployments",
)


def install() -> None:
    """Install both unless they are installed. Raises: NotInstalled."""
    if not all([provide(engine) for engine in (EMULATOR, CDK)]):
        raise NotInstalled("a program of the check cannot be installed; the reason is above")
