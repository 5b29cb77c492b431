"""The template of each environment, synthesized once."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.local.aws_offline.template import checkout, template_of
from tests.infra.reading import Template
from tests.infra.synthesizer import Synthesizer

OLD_KEY = "arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-4000-8000-000000000000"
OWN_WEB_ACL = "arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/ours/0f0e0d0c-0000-4000-8000-000000000000"
CERTIFICATE = "arn:aws:acm:eu-central-1:123456789012:certificate/0f0e0d0c-0000-4000-8000-000000000000"
OWN_KEY = "arn:aws:kms:eu-central-1:123456789012:key/0f0e0d0c-0000-4000-8000-000000000000"
SYNTHESIZER = Synthesizer()
SAID = "said.txt"
"""The file with what a synthesis that tests share has printed."""


@pytest.fixture(scope="session")
def dev() -> Template:
    """What the profile `aws-offline` loads: with an index of memory."""
    return Template(template_of(checkout()))


@pytest.fixture(scope="session", autouse=True)
def synthesizer() -> Iterator[Synthesizer]:
    """The one that `synthesized` asks."""
    yield SYNTHESIZER
    SYNTHESIZER.close()


def synthesized(folder: Path, *context: str) -> subprocess.CompletedProcess[str]:
    """Synthesis with cdk-nag and the CDK's own validation. AWS's variables are those of the tests."""
    words = [word for pair in context for word in ("--context", pair)]
    return SYNTHESIZER.run(["--outdir", str(folder), *words])


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
            (run / f"cdk.new-{name}" / SAID).write_text(done.stdout + done.stderr, encoding="utf-8")
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
        "historyDays=30",
        "privateAddresses=10.1.0.0/16,tools.internal",
        "restDays=90",
        "retentionDays=365",
        "retention=delete",
        "jwtIssuer=https://id.example.com/pool",
        "jwtAudience=hibernaut",
        "events=bus",
        "tenantBudget=tokens_per_day=1000000,cost_per_month=50",
        f"secretsKey={OWN_KEY}",
        f"dataKey={OWN_KEY}, {OLD_KEY}",
        "endpoint=private",
        "vpcEndpoints=vpce-0123456789abcdef0,vpce-0123456789abcdef1",
        f"waf={OWN_WEB_ACL}",
        "bedrockModels=eu.anthropic.claude-sonnet-5-5, amazon.nova-lite-v1:0, us.anthropic.*",
    )
    folder = synthesized_once(tmp_path_factory, "search", "env=staging", *wishes)
    return folder / "Hibernaut-staging.template.json"


@pytest.fixture(scope="session")
def checked_walls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that is open to the world by a name of its own, behind a web ACL, with its functions in a network that exists
    already.
    """
    wishes = (
        "access=public",
        "domain=api.example.com",
        f"certificate={CERTIFICATE}",
        "hostedZone=Z0123456789ABC",
        "defaultEndpoint=disabled",
        "waf=true",
        "dataKey=stack",
        "vpc=vpc-0123456789abcdef0",
        "subnets=subnet-0123456789abcdef0, subnet-0123456789abcdef1",
        "toolNetwork=open",
        "search=serverless",
        "alarms=ops@example.com",
        "tags=team=search, Environment=trial",
        "tenantCredentials=narrowed",
    )
    folder = synthesized_once(tmp_path_factory, "walls", "env=dev", *wishes)
    return folder / "Hibernaut-dev.template.json"


@pytest.fixture(scope="session")
def prod(checked: Path) -> Template:
    return Template(json.loads(checked.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def large(checked_search: Path) -> Template:
    return Template(json.loads(checked_search.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def walled(checked_walls: Path) -> Template:
    return Template(json.loads(checked_walls.read_text(encoding="utf-8")))
