"""Spelling, callers, and what nobody foresaw."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from fastapi import HTTPException, Request
from starlette.types import Message, Receive, Scope, Send

from hibernaut.ports.storage.table import ConditionFailed, Contended, OutcomeUnknown, TooLarge
from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.rest.app import LOOPBACK_ONLY, create_app
from hibernaut.rest.dependencies import is_1_0_client
from hibernaut.rest.http.middleware import BodyLimit, OriginForm, UncachedReplies, UnhandledErrors, spelled
from hibernaut.schemas.errors import HibernautError, NotFound, StoreUnavailable

SECRET = "the user's dearest secret"


def scope(path: str = "/", headers: dict[str, str] | None = None) -> Scope:
    raw = [(name.encode(), value.encode()) for name, value in ({"host": "127.0.0.1"} | (headers or {})).items()]
    asked = {"type": "http", "method": "GET", "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b""}
    return {**asked, "headers": raw, "server": ("127.0.0.1", 80)}


def ask(app: Any, asked: Scope, body: list[bytes] | None = None) -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON of the answer."""
    pieces = body or [b""]
    messages: list[Message] = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces) - 1} for number, piece in enumerate(pieces)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(app(asked, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, json.loads(b"".join(message.get("body", b"") for message in sent[1:]))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("/", "/"),
        ("/v1/agents/", "/v1/agents"),
        ("/v1/agents", "/v1/agents"),
        ("/latest/agents/", "/v1/agents"),
        ("/latest", "/v1"),
        ("/latestly", "/latestly"),
    ],
)
def test_a_path_has_one_spelling(given: str, found: str) -> None:
    assert spelled(given) == found


@pytest.mark.parametrize(
    ("target", "path", "host"),
    [
        ("http://127.0.0.1/v1/a%20b/", "/v1/a b/", "127.0.0.1"),
        ("HTTP://a.test:8283/", "/", "a.test:8283"),
        ("https://a.test", "/", "a.test"),
        ("http://me@a.test/x", "http://me@a.test/x", "own.test"),
        ("/http://a.test/x", "/http://a.test/x", "own.test"),
        ("*", "*", "own.test"),
    ],
)
def test_a_target_that_is_a_whole_address_names_its_path_and_the_host(target: str, path: str, host: str) -> None:
    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        hosts = [value.decode() for name, value in scope["headers"] if name == b"host"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps([scope["path"], hosts]).encode()})

    assert ask(OriginForm(app), scope(target, {"host": "own.test"}))[2] == [path, [host]]


def test_the_host_of_a_whole_address_is_the_one_that_is_checked() -> None:
    app = create_app(None)  # type: ignore[arg-type]
    assert ask(app, scope("http://evil.test/v1/nothing"))[0] == 403
    status, _, body = ask(app, scope("http://127.0.0.1/v1/nothing/", {"host": "evil.test"}))
    assert (status, body) == ask(app, scope("/v1/nothing"))[::2]
    assert status == 404


@pytest.mark.parametrize(
    ("headers", "stable"),
    [
        ({}, True),
        ({"user-agent": "letta-client/1.12.1"}, True),
        ({"user-agent": "@letta-ai/letta-client/1.0.0"}, True),
        ({"user-agent": "Letta/Python 1.12.1", "x-stainless-package-version": "1.12.1"}, True),
        ({"user-agent": "letta-client/0.1.300"}, False),
        ({"user-agent": "letta-client/11.0"}, False),
        ({"user-agent": "curl/8.5.0"}, False),
        ({"user-agent": "python-httpx/0.28"}, False),
    ],
)
def test_who_is_a_1_0_client(headers: dict[str, str], stable: bool) -> None:
    assert is_1_0_client(Request(scope(headers=headers))) is stable


def failing(error: Exception, policy: OriginPolicy = LOOPBACK_ONLY) -> Any:
    """The app with one route that fails with this."""
    app = create_app(None, policy=policy)  # type: ignore[arg-type]

    @app.get("/fails")
    async def fails() -> None:
        raise error

    return app


def test_what_nobody_foresaw_is_answered_and_its_text_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        status, _, body = ask(failing(ValueError(SECRET)), scope("/fails"))
    assert (status, body) == (500, {"detail": "An unknown error occurred"})
    (record,) = [record for record in caplog.records if record.name == "hibernaut.rest.http.errors"]
    assert (record.getMessage(), record.__dict__["error"]) == ("request failed", "ValueError")
    assert __file__ in record.__dict__["place"]
    assert SECRET not in str([vars(one) for one in caplog.records])


def test_an_answer_to_the_unforeseen_may_be_read_by_allowed_pages_too() -> None:
    origin = {"origin": "https://app.example.com"}
    policy = OriginPolicy(origins=(origin["origin"],))
    _, headers, _ = ask(failing(ValueError(), policy), scope("/fails", origin))
    assert headers["access-control-allow-origin"] == origin["origin"]


def test_a_foreign_host_is_refused_before_anything_is_routed() -> None:
    for path in ("/fails", "/no/such/route", "/openapi.json"):
        status, _, body = ask(failing(ValueError()), scope(path, {"host": "evil.test"}))
        assert (status, body["detail"].partition(":")[0]) == (403, "FOREIGN_HOST")


def test_a_run_that_failed_for_reasons_of_ours_is_not_sent_again() -> None:
    status, headers, body = ask(failing(HibernautError(SECRET)), scope("/fails"))
    assert (status, body) == (500, {"detail": "An unknown error occurred"})
    assert headers["x-should-retry"] == "false"


@pytest.mark.parametrize(
    ("error", "status", "again"),
    [(ConditionFailed({}), 409, None), (Contended(), 503, "1"), (OutcomeUnknown(), 503, "1"), (TooLarge(), 413, None)],
    ids=lambda value: type(value).__name__,
)
def test_what_the_table_cannot_do_is_an_answer(error: Exception, status: int, again: str | None) -> None:
    answer = ask(failing(error), scope("/fails"))
    assert (answer[0], answer[1].get("retry-after")) == (status, again)


def test_a_table_out_of_reach_says_when_to_come_back() -> None:
    status, headers, body = ask(failing(StoreUnavailable("The store is busy.", 1.5)), scope("/fails"))
    assert (status, headers["retry-after"], body) == (503, "2", {"detail": "The store is busy."})
    assert "x-should-retry" not in headers


def test_an_answer_that_has_begun_is_not_begun_again() -> None:
    async def breaks(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"1", "more_body": True})
        raise ValueError

    assert ask(UnhandledErrors(breaks), scope())[::2] == (200, 1)


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(("size", "fits"), [(10, True), (11, False)])
def test_a_body_is_counted_whether_its_length_is_announced_or_not(announced: bool, size: int, fits: bool) -> None:
    read: list[bytes] = []

    async def reads(asked: Scope, receive: Receive, send: Send) -> None:
        try:
            read.append(await Request(asked, receive).body())
        except HTTPException as error:
            read.append(str(error).encode())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"0"})

    headers = {"content-length": str(size)} if announced else {}
    ask(BodyLimit(reads, limit=10), scope(headers=headers), [b"x" * 6, b"x" * (size - 6)])
    assert (read == [b"x" * size]) is fits
    assert (b"413" in read[0]) is not fits


@pytest.mark.parametrize(
    ("path", "size", "fits"), [("/v1/folders/f/upload", 20, True), ("/v1/folders/f/upload", 70_000, False), ("/v1/f", 20, False)]
)
def test_an_uploaded_file_has_a_limit_of_its_own_with_room_for_its_form(path: str, size: int, fits: bool) -> None:
    read: list[bytes] = []

    async def reads(asked: Scope, receive: Receive, send: Send) -> None:
        try:
            read.append(await Request(asked, receive).body())
        except HTTPException as error:
            read.append(str(error).encode())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"0"})

    ask(BodyLimit(reads, limit=10, uploads=15), {**scope(), "path": path, "method": "POST"}, [b"x" * size])
    assert (read == [b"x" * size]) is fits


@pytest.mark.parametrize("error", [NotFound("x"), ValueError()])
def test_no_reply_is_kept_on_its_way(error: Exception) -> None:
    for path in ("/fails", "/nowhere", "/openapi.json"):
        _, headers, _ = ask(failing(error), scope(path))
        assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


def test_a_reply_may_say_itself_how_long_it_may_be_kept() -> None:
    async def says(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"no-cache")]})
        await send({"type": "http.response.body", "body": b"1"})

    assert ask(UncachedReplies(says), scope())[1]["cache-control"] == "no-cache"
