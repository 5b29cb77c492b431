"""The template of each environment, synthesized once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hibernaut.local.aws_offline.template import checkout, template_of
from infra.artifacts import ROOT
from tests.infra.reading import Template


@pytest.fixture(scope="session")
def dev() -> Template:
    return Template(template_of(checkout()))


@pytest.fixture(scope="session")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The production template, synthesized with cdk-nag and the CDK's own validation. AWS's variables are those of the tests."""
    folder = tmp_path_factory.mktemp("cdk.out")
    command = [sys.executable, "-m", "infra.app", "--outdir", str(folder), "--context", "env=prod"]
    context = ["--context", "callers=203.0.113.0/24, 198.51.100.7/32"]
    done = subprocess.run([*command, *context], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "Hibernaut-prod.template.json"


@pytest.fixture(scope="session")
def prod(checked: Path) -> Template:
    return Template(json.loads(checked.read_text(encoding="utf-8")))
