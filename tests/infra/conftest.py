"""The template of each environment, synthesized once."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hibernaut.local.aws_offline.template import checkout, template_of
from infra.artifacts import ROOT
from tests.infra.reading import Template

OWN_KEY = "arn:aws:kms:eu-central-1:123456789012:key/0f0e0d0c-0000-4000-8000-000000000000"


@pytest.fixture(scope="session")
def dev() -> Template:
    """What the profile `aws-offline` loads: with an index of memory."""
    return Template(template_of(checkout()))


def synthesized(folder: Path, *context: str) -> subprocess.CompletedProcess[str]:
    """Synthesis with cdk-nag and the CDK's own validation. AWS's variables are those of the tests."""
    words = [word for pair in context for word in ("--context", pair)]
    command = [sys.executable, "-m", "infra.app", "--outdir", str(folder), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def synthesized_once(factory: pytest.TempPathFactory, name: str, *context: str) -> Path:
    """The folder of a synthesis that all processes of a test run share: the first one makes it, the others wait for it."""
    folder = factory.getbasetemp()
    run = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    made = run / f"cdk.out-{name}"
    with (run / f"cdk.out-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            done = synthesized(run / f"cdk.new-{name}", *context)
            assert done.returncode == 0, done.stdout + done.stderr
            (run / f"cdk.new-{name}").rename(made)
    return made


@pytest.fixture(scope="session")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The production template, as it is without further wishes."""
    folder = synthesized_once(tmp_path_factory, "prod", "env=prod", "callers=203.0.113.0/24, 198.51.100.7/32")
    return folder / "Hibernaut-prod.template.json"


@pytest.fixture(scope="session")
def checked_search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with an index of two instances in a network of its own, embeddings by Bedrock, and a page of graphs."""
    wishes = (
        "search=domain",
        "searchCount=2",
        "searchVolume=20",
        "searchVpc=true",
        "embedding=bedrock/amazon.titan-embed-text-v2:0",
        "dashboard=true",
        "snapStart=true",
        "release=canary",
        "websockets=true",
        "alarms=arn:aws:sns:eu-central-1:123456789012:on-call",
        "promptCache=1h",
        "systemPrompt=recompiled",
        "jwtIssuer=https://id.example.com/pool",
        "jwtAudience=hibernaut",
        "events=bus",
        "tenantBudget=tokens_per_day=1000000,cost_per_month=50",
        f"secretsKey={OWN_KEY}",
        "bedrockModels=eu.anthropic.claude-sonnet-5-5, amazon.nova-lite-v1:0, us.anthropic.*",
    )
    folder = synthesized_once(tmp_path_factory, "search", "env=staging", *wishes)
    return folder / "Hibernaut-staging.template.json"


@pytest.fixture(scope="session")
def prod(checked: Path) -> Template:
    return Template(json.loads(checked.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def large(checked_search: Path) -> Template:
    return Template(json.loads(checked_search.read_text(encoding="utf-8")))
