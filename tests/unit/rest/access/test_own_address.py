"""The address under which a client knows this server: at home, behind a proxy, and behind API Gateway with and without its
stage.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.requests import Request

from hibernaut.rest.access.own_address import own_address

HOST = "api.example"
STAGED: dict[str, Any] = {"stage": "dev", "path": "/dev/v1/tools"}
OWN_DOMAIN: dict[str, Any] = {"stage": "dev", "path": "/v1/tools"}


def request(context: dict[str, Any] | None = None, event: dict[str, Any] | None = None, **headers: str) -> Request:
    given = {"host": HOST, **({"x-amzn-request-context": json.dumps(context)} if context else {}), **headers}
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items()]
    scope = {"type": "http", "scheme": "http", "path": "/v1/tools", "headers": raw, "server": (HOST, 80), "query_string": b""}
    return Request(scope | ({"aws.event": {"requestContext": event}} if event else {}))


@pytest.mark.parametrize(
    ("asked", "address"),
    [
        (request(), "http://api.example"),
        (request(x_forwarded_proto="https"), "https://api.example"),
        (request(STAGED, x_forwarded_proto="https"), "https://api.example/dev"),
        (request(OWN_DOMAIN, x_forwarded_proto="https"), "https://api.example"),
        (request(event=STAGED, x_forwarded_proto="https"), "https://api.example/dev"),
        (request(x_amzn_request_context="{"), "http://api.example"),
        (request(x_amzn_request_context="[1]"), "http://api.example"),
        (request(x_forwarded_proto="javascript"), "http://api.example"),
    ],
)
def test_the_own_address_is_that_of_the_request(asked: Request, address: str) -> None:
    assert own_address(asked) == address
