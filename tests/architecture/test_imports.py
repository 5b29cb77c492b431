"""The layers hold, and starting the local server loads no vendor's SDK. Asks fresh interpreters, since this one has loaded everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

# Whatever stands behind an adapter is loaded at its first use: idle memory and cold starts pay for nothing else.
AT_FIRST_USE = (
    "anthropic",
    "aws_cdk",
    "boto3",
    "botocore",
    "cryptography",
    "httpx",
    "httpx2",
    "jwt",
    "mangum",
    "moto",
    "numpy",
    "openai",
    "opensearchpy",
)


def loaded_by(module: str) -> set[str]:
    script = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_layers_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


MODULES = (
    "hibernaut.rest.app",
    "hibernaut.wiring.settings",
    "hibernaut.wiring.embedded",
    "hibernaut.local.command",
)


@pytest.mark.parametrize("module", MODULES)
def test_vendors_wait_for_their_first_use(module: str) -> None:
    assert loaded_by(module).isdisjoint(AT_FIRST_USE)
