"""The gateway's side: events as API Gateway writes them, its limits, and its refusals in the template's words."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from hibernaut.local.aws_offline.gateway_events import MalformedReply, Request, event_of, response_of
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.base import JsonObject
from tests.functions.conftest import sample

BINARY = ("multipart/form-data", "application/octet-stream")


def asked(path: str = "/v1/agents/", query: str = "", body: bytes = b"", content: str = "application/json") -> JsonObject:
    headers = [("Host", "example.org"), ("Content-Type", content), ("X-Two", "a"), ("X-Two", "b")]
    request = Request("POST", path, query, headers, body)
    return event_of(request, resource="/{proxy+}", stage="dev", binary=BINARY)


class NoApp:
    """The handler cannot even look at it."""

    def __bool__(self) -> bool:
        raise RuntimeError("not to be built")


def keys(value: Mapping[str, Any]) -> set[str]:
    return set(value)


def test_our_events_have_the_shape_of_real_ones() -> None:
    real, ours = sample("api", "list_agents_by_tags"), asked(query="tags=a&tags=b")
    assert keys(ours) == keys(real)
    # What API Gateway tells of deployments and callers beside that is not read.
    assert keys(ours["requestContext"]) <= keys(real["requestContext"])


def test_a_parameter_or_header_that_comes_twice_is_kept_twice() -> None:
    event = asked(query="tags=a&tags=b%20c&empty=")
    assert event["multiValueQueryStringParameters"] == {"tags": ["a", "b c"], "empty": [""]}
    assert event["queryStringParameters"] == {"tags": "b c", "empty": ""}
    assert event["multiValueHeaders"]["X-Two"] == ["a", "b"]


def test_text_is_passed_on_as_text_and_files_in_base64() -> None:
    assert (asked(body="größer".encode())["body"], asked()["body"]) == ("größer", None)
    event = asked(body=b"\xff\x00", content="multipart/form-data; boundary=x")
    assert (base64.b64decode(event["body"]), event["isBase64Encoded"]) == (b"\xff\x00", True)


def test_bytes_come_out_only_for_those_who_accept_them() -> None:
    reply = {"statusCode": 200, "headers": {"a": "1"}, "body": base64.b64encode(b"\xff").decode(), "isBase64Encoded": True}
    assert response_of(reply, "application/octet-stream, */*", BINARY).body == b"\xff"
    assert response_of(reply, "application/json", BINARY).body == base64.b64encode(b"\xff")


@pytest.mark.parametrize("reply", [None, "text", {}, {"statusCode": "200"}])
def test_what_is_no_proxy_reply_is_refused(reply: Any) -> None:
    with pytest.raises(MalformedReply):
        response_of(reply, "", BINARY)


def test_a_request_goes_through_the_real_handler(aws: OfflineAws) -> None:
    answer = httpx.get(f"{aws.url}/v1/health/")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


def test_a_body_over_the_limit_is_413_and_names_it(aws: OfflineAws) -> None:
    answer = httpx.post(f"{aws.url}/v1/agents/", content=json.dumps({"name": "x" * 6_300_000}))
    assert answer.status_code == 413
    assert "6 MB" in answer.json()["detail"]


def test_a_body_that_the_gateway_does_not_take_is_413_too(aws: OfflineAws) -> None:
    answer = httpx.post(f"{aws.url}/v1/agents/", content=b"x" * 11_000_000)
    assert (answer.status_code, "6 MB" in answer.json()["detail"]) == (413, True)


def test_a_handler_that_fails_is_a_502_that_a_web_page_may_read(aws: OfflineAws) -> None:
    aws.lambdas.deps["api"] = NoApp()
    try:
        answer = httpx.get(f"{aws.url}/v1/health/")
    finally:
        del aws.lambdas.deps["api"]
    assert (answer.status_code, answer.json()) == (502, {"detail": "An internal server error occurred"})
    assert answer.headers["access-control-allow-origin"] == "*"


def test_a_schedule_that_fails_leaves_a_dead_letter(aws: OfflineAws) -> None:
    from hibernaut.local.aws_offline.resources import client

    aws.lambdas.deps["sweep_runs"] = 7
    try:
        assert aws.fire_schedule().error == "AttributeError"
    finally:
        del aws.lambdas.deps["sweep_runs"]
    (queue,) = client("sqs").list_queues()["QueueUrls"]
    (letter,) = client("sqs").receive_message(QueueUrl=queue)["Messages"]
    assert set(json.loads(letter["Body"])) == {"schedule", "at"}
