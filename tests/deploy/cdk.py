"""The CDK's command line against the emulator. A line of its output that warns is an error."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from infra.artifacts import ROOT
from tests.deploy.emulator import ACCOUNT, REGION, Emulator
from tests.deploy.programs import CDK, node

STACK, ARTIFACT = "hibernaut-dev", "Hibernaut-dev"
UNCHANGED = "(no changes)"
PATIENCE = 900
"""Seconds for one command."""
_WARNS = re.compile(r"\bwarn(ing)?s?\b|\bdeprecat|⚠", re.IGNORECASE)


class CommandFailed(Exception):
    """A command ended otherwise than it should, or warned; the message holds its words."""


class Cdk:
    """The command line. `assembly` is the folder of the newest synthesis."""

    def __init__(self, running: Emulator, assembly: Path) -> None:
        self._environment = {
            **running.environment(),
            "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
        }
        self._assembly = assembly

    def bootstrap(self) -> None:
        """Create the toolkit's stack: roles, a bucket and a version."""
        self._run("bootstrap", f"aws://{ACCOUNT}/{REGION}", "--app", "")

    def deploy(self, settings: Mapping[str, str], *, fails: bool = False) -> str:
        """Deploy dev with these settings; returns the output. `fails`: the deployment must fail."""
        context = [word for name, value in {"env": "dev", **settings}.items() for word in ("--context", f"{name}={value}")]
        own = ["--app", f"{sys.executable} -m tests.deploy.app", "--output", str(self._assembly), "--require-approval", "never"]
        return self._run("deploy", *own, *context, fails=fails)

    def destroy(self) -> None:
        """Delete the stack."""
        self._run("destroy", "--app", str(self._assembly), "--force")

    def _run(self, *words: str, fails: bool = False) -> str:
        command = [node(), CDK.folder / "node_modules" / "aws-cdk" / "bin" / "cdk", *words, "--no-notices"]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if (done.returncode != 0) is not fails:
            raise CommandFailed(f"cdk {words[0]} ended with {done.returncode}:\n{_end_of(done.stdout)}")
        if warnings := [line for line in done.stdout.splitlines() if _WARNS.search(line)]:
            raise CommandFailed(f"cdk {words[0]} warns:\n" + "\n".join(warnings))
        return done.stdout


def _end_of(output: str) -> str:
    return "\n".join(output.splitlines()[-40:])
