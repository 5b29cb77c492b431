"""A reply that Lambda cannot return is a 413 that says so, and no 502."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from functions.api.handler import LARGEST_REPLY, handler
from hibernaut.local.aws_offline.lambdas import PAYLOAD_LIMIT, event_loop
from hibernaut.local.aws_offline.offline import OfflineAws
from tests.functions.conftest import sample

CONTEXT: Any = SimpleNamespace(aws_request_id="req-1")
PAGE = b"https://app.example.com"


class Answering:
    """An app with one answer."""

    def __init__(self, body: str) -> None:
        self._body = body.encode()

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/json"), (b"access-control-allow-origin", PAGE)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})


def answer(body: str) -> Any:
    app: Any = Answering(body)
    with event_loop():
        return handler(sample("api", "list_agents_by_tags"), CONTEXT, app)


def sent(reply: Any) -> int:
    return len(json.dumps(reply, ensure_ascii=False).encode())


@pytest.mark.parametrize(
    "body",
    ["x" * 7_000_000, "\\u0001" * 1_200_000, '"' * 3_200_000, "é" * 3_200_000],
    ids=["large", "six bytes for each character", "two bytes for each character", "two bytes in UTF-8"],
)
def test_what_is_over_the_limit_on_the_wire_is_a_413_that_pages_may_read(body: str) -> None:
    reply = answer(body)
    assert reply["statusCode"] == 413
    assert f"at most {LARGEST_REPLY}" in json.loads(reply["body"])["detail"]
    named = {name.lower(): value for member in ("headers", "multiValueHeaders") for name, value in reply.get(member, {}).items()}
    assert named["content-type"] == "application/json"
    assert named["access-control-allow-origin"] in (PAGE.decode(), [PAGE.decode()])


@pytest.mark.parametrize("body", ["x" * 6_200_000, "é" * 3_100_000, '"' * 3_100_000], ids=["plain", "letters", "quotes"])
def test_what_fits_on_the_wire_is_sent_whole(body: str) -> None:
    reply = answer(body)
    assert (reply["statusCode"], reply["body"]) == (200, body)
    assert sent(reply) <= LARGEST_REPLY


def test_the_gateway_passes_on_the_413_and_what_fits(aws: OfflineAws) -> None:
    assert PAYLOAD_LIMIT == LARGEST_REPLY
    found = {}
    for size in (6_200_000, 6_300_000):
        aws.lambdas.deps["api"] = Answering("x" * size)
        try:
            found[size] = httpx.get(f"{aws.url}/v1/agents/", timeout=60)
        finally:
            del aws.lambdas.deps["api"]
    assert [one.status_code for one in found.values()] == [200, 413]
    assert found[6_300_000].headers["content-type"] == "application/json"
    assert len(found[6_200_000].content) == 6_200_000
