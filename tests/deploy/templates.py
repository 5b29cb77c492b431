"""Templates of all pairs of settings, checked by cfn-lint: `python -m tests.deploy.templates`.

A resource depends on few settings, so every pair of values stands in a template at least once, in place of every combination. The
CDK's own rules and cdk-nag are not asked here: `make synth` and the tests of `tests/infra` ask them.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from infra.app import synthesize
from tests.deploy.programs import node

Context = Mapping[str, str]
KEY = "arn:aws:kms:eu-central-1:123456789012:key/0f0e0d0c-0000-4000-8000-000000000000"
SETTINGS: tuple[tuple[Context, ...], ...] = (
    ({"env": "dev"}, {"env": "staging"}, {"env": "prod"}),
    (
        {"search": "none"},
        {"search": "serverless"},
        {"search": "domain"},
        {"search": "domain", "searchCount": "2", "searchVpc": "true"},
        {"search": "domain", "searchCount": "3", "searchVpc": "true"},
    ),
    (
        {},
        {"access": "public"},
        {"callers": "203.0.113.0/24"},
        {"endpoint": "private", "vpcEndpoints": "vpce-0123456789abcdef0"},
        {
            "access": "public",
            "domain": "api.example.com",
            "certificate": "arn:aws:acm:eu-central-1:123456789012:certificate/0f0e0d0c-0000-4000-8000-000000000000",
            "hostedZone": "Z0123456789ABC",
            "defaultEndpoint": "disabled",
        },
    ),
    (
        {},
        {"waf": "true"},
        {"waf": "arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/ours/0f0e0d0c-0000-4000-8000-000000000000"},
    ),
    ({}, {"dataKey": "stack"}, {"dataKey": KEY}),
    (
        {},
        {"vpc": "stack"},
        {
            "vpc": "vpc-0123456789abcdef0",
            "subnets": "subnet-0123456789abcdef0,subnet-0123456789abcdef1,subnet-0123456789abcdef2",
            "securityGroups": "sg-0123456789abcdef0",
        },
    ),
    ({}, {"toolNetwork": "open"}),
    ({}, {"alarms": "ops@example.com"}, {"alarms": "arn:aws:sns:eu-central-1:123456789012:on-call"}),
    ({}, {"bedrockModels": "none"}, {"bedrockModels": "eu.anthropic.*, amazon.nova-lite-v1:0"}),
    (
        {},
        {"origins": "https://app.example.com"},
        {"origins": "https://a.example.com,https://b.example.com", "hosts": "api.example.com"},
    ),
    ({}, {"secretsKey": KEY}),
    ({}, {"embedding": "bedrock/amazon.titan-embed-text-v2:0"}),
    ({}, {"dashboard": "true"}),
    ({}, {"tenantCredentials": "narrowed"}),
    ({}, {"events": "bus"}),
    ({}, {"snapStart": "true"}),
    ({}, {"release": "canary"}, {"release": "linear"}),
    ({}, {"websockets": "true"}),
    (
        {},
        {
            "rate": "10",
            "burst": "20",
            "followers": "5",
            "toolTime": "300",
            "packageIndex": "https://packages.example.com/simple/",
            "packageSize": "100",
            "mostAlarms": "100",
            "replyTime": "120",
            "defaultModel": "openai/gpt-5.4",
            "privateAddresses": "10.1.0.0/16,tools.internal",
            "privatePages": "wiki.internal",
        },
    ),
    (
        {},
        {
            "traces": "redacted",
            "promptCache": "1h",
            "systemPrompt": "recompiled",
            "historyDays": "30",
            "restDays": "90",
            "retentionDays": "365",
            "retention": "delete",
            "otlp": "https://otel.example.com",
            "tenantBudget": "tokens_per_day=1000000,cost_per_month=50",
            "tags": "team=search,cost-centre=42",
            "jwtIssuer": "https://id.example.com/pool",
            "jwtAudience": "hibernaut",
            "jwtTenantClaim": "custom:tenant",
            "jwtScopeClaim": "cognito:groups",
            "jwtScopes": "editors=write,owners=admin",
            "jwtDefaultScope": "read",
        },
    ),
)
"""Each setting, or settings that belong together, with its values. Values that differ in one plain number are one value."""
Pair = tuple[tuple[int, int], tuple[int, int]]


def combinations() -> Iterator[Context]:
    """Contexts that contain every pair of values: each is built from a pair that is not contained yet, with the values that
    contain the most of the others.
    """
    left = set(_pairs([range(len(values)) for values in SETTINGS]))
    while left:
        chosen = dict(min(left))
        for setting, values in enumerate(SETTINGS):
            if setting not in chosen:
                chosen[setting] = max(range(len(values)), key=lambda value: _gain(left, {**chosen, setting: value}))
        left -= set(_pairs([[chosen[setting]] for setting in range(len(SETTINGS))]))
        yield {name: text for setting, value in chosen.items() for name, text in SETTINGS[setting][value].items()}


def _pairs(values: list[range] | list[list[int]]) -> Iterator[Pair]:
    for (first, one), (second, other) in itertools.combinations(enumerate(values), 2):
        yield from (((first, a), (second, b)) for a in one for b in other)


def _gain(left: set[Pair], chosen: Mapping[int, int]) -> int:
    return sum(pair in left for pair in itertools.combinations(sorted(chosen.items()), 2))


def main() -> int:
    """Returns the exit code of cfn-lint, whose findings go to the standard output."""
    os.environ.setdefault("JSII_NODE", str(node()))
    with tempfile.TemporaryDirectory() as folder:
        templates = []
        for number, context in enumerate(combinations()):
            place = Path(folder) / str(number)
            with contextlib.redirect_stderr(io.StringIO()):
                synthesize(str(place), {**context, "check": "false"})
            templates.extend(place.glob("*.template.json"))
        linter = Path(sys.executable).with_name("cfn-lint")
        done = subprocess.run([linter, "-i", "W", "--", *templates], check=False)
    sys.stdout.write(f"{len(templates)} templates were checked\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
