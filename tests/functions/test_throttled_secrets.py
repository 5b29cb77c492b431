"""Parameter Store is throttled: what does not need a provider's key is not disturbed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from moto.core.exceptions import JsonRESTError
from moto.ssm.models import SimpleSystemManagerBackend

from hibernaut.adapters.secrets import ssm
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.base import JsonObject
from tests.functions.conftest import NAMED, sample


class Throttle:
    """Refuses every read, as SSM does beyond its rate, and counts them."""

    def __init__(self) -> None:
        self.reads = 0

    def __call__(self, *_: Any, **__: Any) -> Any:
        self.reads += 1
        raise JsonRESTError("ThrottlingException", "Rate exceeded")


@pytest.fixture
def throttle(monkeypatch: pytest.MonkeyPatch) -> Throttle:
    throttle = Throttle()
    monkeypatch.setattr(SimpleSystemManagerBackend, "get_parameters_by_path", throttle)
    monkeypatch.setattr(ssm, "ATTEMPTS", 1)
    return throttle


def asked(running: OfflineAws, path: str) -> JsonObject:
    event = sample("api", "create_agent")
    context = {**event["requestContext"], "httpMethod": "GET"}
    found: JsonObject = running.invoke(
        "api", {**event, "httpMethod": "GET", "path": path, "body": None, "requestContext": context}
    )
    return found


def test_health_lists_and_the_sweep_never_ask_for_keys(throttle: Throttle) -> None:
    with OfflineAws(variables=NAMED) as running:
        for path in ("/v1/health/", "/v1/agents/", "/v1/tools/", "/v1/runs/", "/v1/archives/"):
            assert asked(running, path)["statusCode"] == 200, path
        running.invoke("sweep_runs", {})
        assert throttle.reads == 0


def test_what_needs_a_key_says_that_it_cannot_be_read_and_when_to_ask_again(throttle: Throttle) -> None:
    with OfflineAws(variables=NAMED) as running:
        reply = asked(running, "/v1/models/")
        assert reply["statusCode"] == 503
        assert "Parameter Store" in json.loads(reply["body"])["detail"]
        headers = {name.lower(): value for name, value in (reply.get("headers") or {}).items()} | {
            name.lower(): value[0] for name, value in (reply.get("multiValueHeaders") or {}).items()
        }
        assert headers["retry-after"] == "5"
        assert throttle.reads == 1
