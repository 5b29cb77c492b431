"""The gateway's side: events as API Gateway writes them, its limits, and its refusals in the template's words."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest, MalformedReply, event_of, response_of
from hibernaut.local.aws_offline.api_gateway.routes import Route, Routes
from hibernaut.local.aws_offline.lambdas import abandon
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.base import JsonObject
from tests.functions.conftest import sample

BINARY = ("multipart/form-data", "application/octet-stream")


def asked(path: str = "/v1/agents/", query: str = "", body: bytes = b"", content: str = "application/json") -> JsonObject:
    headers = [("Host", "example.org"), ("Content-Type", content), ("X-Two", "a"), ("X-Two", "b")]
    request = GatewayRequest("POST", path, query, headers, body)
    return event_of(request, Route("/{proxy+}", {"proxy": path.strip("/")}), stage="dev", binary=BINARY)


class NoApp:
    """The handler cannot even look at it."""

    def __bool__(self) -> bool:
        raise RuntimeError("not to be built")


class Pieces:
    """An app that sends its second piece when it is told to."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.scope: Any = {}
        self.body = b""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope, self.body = scope, (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await asyncio.to_thread(self.go_on.wait, 10)
        await send({"type": "http.response.body", "body": b"two"})


class Dying:
    """An app whose machine dies, after so many pieces."""

    def __init__(self, after: int) -> None:
        self.after = after

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        for number in range(self.after):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": str(number).encode(), "more_body": True})
        await asyncio.to_thread(abandon)


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
    answer = httpx.get(f"{aws.url}/v1/health/", timeout=60)
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


def test_a_body_over_the_limit_is_413_and_names_it(aws: OfflineAws) -> None:
    answer = httpx.post(f"{aws.url}/v1/agents/", content=json.dumps({"name": "x" * 6_300_000}), timeout=60)
    assert answer.status_code == 413
    assert "6 MB" in answer.json()["detail"]


def test_a_body_that_the_gateway_does_not_take_is_413_too(aws: OfflineAws) -> None:
    answer = httpx.post(f"{aws.url}/v1/agents/", content=b"x" * 11_000_000, timeout=60)
    assert (answer.status_code, "6 MB" in answer.json()["detail"]) == (413, True)


def test_a_handler_that_fails_is_a_502_that_no_foreign_web_page_may_read(aws: OfflineAws) -> None:
    aws.lambdas.deps["api"] = NoApp()
    try:
        answer = httpx.get(f"{aws.url}/v1/health/", headers={"origin": "https://app.letta.com"}, timeout=60)
    finally:
        del aws.lambdas.deps["api"]
    assert (answer.status_code, answer.json()) == (502, {"detail": "An internal server error occurred"})
    assert "access-control-allow-origin" not in answer.headers


AGENT = "agent-0199f2c0-7a10-4000-8a5b-3f1e2d4c5b00"
TREE = Routes(["/", "/{proxy+}", "/v1", "/v1/{proxy+}", "/v1/agents", "/v1/agents/{id}", "/v1/agents/{id}/messages"])


@pytest.mark.parametrize(
    ("path", "resource", "parameters"),
    [
        ("/", "/", {}),
        ("/docs", "/{proxy+}", {"proxy": "docs"}),
        ("/v1/agents/", "/v1/agents", {}),
        ("/v1/agents/a%20b/messages", "/v1/agents/{id}/messages", {"id": "a b"}),
        ("/v1/blocks/b/agents", "/v1/{proxy+}", {"proxy": "blocks/b/agents"}),
    ],
)
def test_a_path_ends_at_the_resource_that_says_most_of_it(path: str, resource: str, parameters: dict[str, str]) -> None:
    assert TREE.of(path) == Route(resource, parameters)


def test_a_path_that_leaves_its_branch_ends_nowhere() -> None:
    assert TREE.of("/v1/agents/a/archives") is None


@pytest.mark.parametrize("sample_name", ["send_message", "resume_run"])
def test_streamed_requests_arrive_as_the_samples_say(aws: OfflineAws, sample_name: str) -> None:
    written = sample("stream", sample_name)
    request = GatewayRequest(
        written["httpMethod"], written["path"], "", list(written["headers"].items()), written["body"].encode()
    )
    route = aws.gateway.route_of(request.path)
    assert route is not None
    ours = event_of(request, route, stage="dev", binary=BINARY)
    assert (keys(ours), ours["resource"], ours["pathParameters"]) == (
        keys(written),
        written["resource"],
        written["pathParameters"],
    )
    assert aws.gateway.answer(request).status == 404


def test_a_reply_is_passed_on_piece_by_piece(aws: OfflineAws) -> None:
    app = Pieces()
    aws.lambdas.deps["stream"] = app
    try:
        with httpx.stream("POST", f"{aws.url}/v1/agents/{AGENT}/messages?a=1", content=b"{}", timeout=60) as answer:
            pieces = answer.iter_raw()
            assert (answer.status_code, next(pieces)) == (200, b"one")
            app.go_on.set()
            assert b"".join(pieces) == b"two"
    finally:
        del aws.lambdas.deps["stream"]
    assert (app.scope["path"], app.scope["query_string"], app.body) == (f"/v1/agents/{AGENT}/messages", b"a=1", b"{}")


def test_a_function_that_dies_before_it_answers_is_a_502(aws: OfflineAws) -> None:
    aws.lambdas.deps["stream"] = Dying(after=0)
    try:
        answer = httpx.post(f"{aws.url}/v1/agents/{AGENT}/messages/stream", json={}, timeout=60)
    finally:
        del aws.lambdas.deps["stream"]
    assert (answer.status_code, answer.json()) == (502, {"detail": "An internal server error occurred"})


def test_a_function_that_dies_in_a_stream_breaks_it(aws: OfflineAws) -> None:
    aws.lambdas.deps["stream"] = Dying(after=1)
    try:
        with (
            pytest.raises(httpx.RemoteProtocolError),
            httpx.stream("POST", f"{aws.url}/v1/runs/run-1/stream", timeout=60) as answer,
        ):
            answer.read()
    finally:
        del aws.lambdas.deps["stream"]


def test_a_streamed_route_takes_no_larger_body(aws: OfflineAws) -> None:
    answer = httpx.post(f"{aws.url}/v1/agents/{AGENT}/messages", content=json.dumps({"messages": "x" * 6_300_000}), timeout=60)
    assert (answer.status_code, "6 MB" in answer.json()["detail"]) == (413, True)


def test_other_methods_of_a_streamed_path_are_answered_whole(aws: OfflineAws) -> None:
    aws.lambdas.deps["stream"] = NoApp()
    try:
        answer = httpx.get(f"{aws.url}/v1/agents/{AGENT}/messages", timeout=60)
    finally:
        del aws.lambdas.deps["stream"]
    assert (answer.status_code, "not found" in answer.json()["detail"]) == (404, True)


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
