"""The promises of the `Model` port where something goes wrong: every failure is one error of ours, made once, and tells no
secret.
"""

from __future__ import annotations

from typing import Any

import pytest

from hibernaut.adapters.model.anthropic.anthropic import AnthropicModel
from hibernaut.adapters.model.google.gemini import GeminiModel
from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.openai.responses import ResponsesModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.ports.model import Delta
from hibernaut.schemas.errors import (
    ContextWindowExceeded,
    InvalidModelResponse,
    ModelAuthentication,
    ModelBadRequest,
    ModelConnection,
    ModelCredits,
    ModelError,
    ModelNotFound,
    ModelOverloaded,
    ModelPermission,
    ModelRateLimit,
    ModelTimeout,
)
from tests.contracts.model.spoken import KEY, Spoken
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.rows import Rows

CALLS = [{"id": "call_a", "name": "memory_insert", "arguments": {"label": "human", "new_string": "Lives in Oslo."}}]
FULL: dict[str, Any] = {"reasoning": "They told me where they live.", "content": "I will note that down.", "tool_calls": CALLS}


def hello(spoken: Spoken, **fields: Any) -> Any:
    return spoken.request(Rows().user("I live in Oslo"), **fields)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"type": "invalid_request_error", "message": "No."}, ModelBadRequest),
        (400, {"code": "context_length_exceeded", "message": "Too long."}, ContextWindowExceeded),
        (
            400,
            {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"},
            ContextWindowExceeded,
        ),
        (413, {"type": "request_too_large", "message": "Too large."}, ContextWindowExceeded),
        (400, {"message": "Your credit balance is too low to access the API."}, ModelCredits),
        (402, {"message": "Pay."}, ModelCredits),
        (429, {"code": "insufficient_quota", "message": "You exceeded your current quota."}, ModelCredits),
        (401, {"message": "Bad key."}, ModelAuthentication),
        (403, {"message": "Not you."}, ModelPermission),
        (404, {"message": "The model `x` does not exist."}, ModelNotFound),
        (408, {"message": "Slow."}, ModelTimeout),
        (422, {"message": "Odd."}, ModelBadRequest),
        (429, {"message": "Slow down."}, ModelRateLimit),
        (500, {"message": "Oops."}, ModelOverloaded),
        (529, {"type": "overloaded_error", "message": "Overloaded"}, ModelOverloaded),
    ],
)
def test_a_refusal_becomes_one_of_our_errors(spoken: Spoken, status: int, error: dict[str, str], kind: type[ModelError]) -> None:
    spoken.server.says(status=status, body={"type": "error", "error": error})
    with pytest.raises(ModelError) as raised:
        spoken.model.complete(hello(spoken))
    assert type(raised.value) is kind
    assert len(spoken.server.requests) == 1


def test_an_error_holds_what_was_sent_and_what_the_provider_answered(spoken: Spoken) -> None:
    refusal = {"type": "error", "error": {"type": "invalid_request_error", "message": "No: Bearer abcdef123456."}}
    spoken.server.says(status=400, body=refusal)
    with pytest.raises(ModelBadRequest) as raised:
        spoken.model.complete(hello(spoken))
    exchange = raised.value.exchange
    assert exchange is not None
    assert exchange.sent == spoken.server.requests[-1].body
    clean = {"type": "error", "error": {"type": "invalid_request_error", "message": "No: ***"}}
    assert exchange.received == {"status": 400, "body": clean}


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_takes_no_prompt_and_no_key_elsewhere(spoken: Spoken, status: int) -> None:
    with ScriptedOpenAI() as elsewhere:
        spoken.server.says(status=status, body=b"", headers={"location": f"{elsewhere.url}/chat/completions"})
        with pytest.raises(ModelError):
            spoken.model.complete(hello(spoken))
        assert (elsewhere.requests, elsewhere.listings) == ([], [])
    assert len(spoken.server.requests) == 1


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"", {"error": "plain"}, {"error": None}, [1], {"detail": "x"}])
def test_a_refusal_in_any_shape_is_an_error_of_ours(spoken: Spoken, body: Any) -> None:
    spoken.server.says(status=503, body=body)
    with pytest.raises(ModelOverloaded):
        spoken.model.complete(hello(spoken))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Sun, 01 Mar 2026 09:15:30 GMT", "date": "Sun, 01 Mar 2026 09:15:00 GMT"}, 30.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_provider_says_when_to_come_back(spoken: Spoken, headers: dict[str, str], seconds: float | None) -> None:
    spoken.server.says(status=429, body={"error": {"message": "Slow down."}}, headers=headers)
    with pytest.raises(ModelRateLimit) as raised:
        spoken.model.complete(hello(spoken))
    assert raised.value.retry_after == seconds


EMPTY = b'{"choices": [{"message": {"content": ""}, "finish_reason": "stop"}], "content": [{"type": "text", "text": ""}]}'
NAMELESS = b'{"choices": [{"message": {"tool_calls": [{"id": "c"}]}}], "content": [{"type": "tool_use", "id": "c"}]}'
NO_NAME = b'{"choices": [{"message": {"tool_calls": [{"id": "c", "function": {"arguments": "{}"}}]}}]}'
NO_ITEMS = [b'{"choices": [], "content": []}', b'{"choices": [7], "content": [7]}']


@pytest.mark.parametrize("raw", [b"not json", b"", b"[]", b"null", b"{}", b"[" * 9000, *NO_ITEMS, EMPTY, NAMELESS, NO_NAME])
def test_garbage_is_an_invalid_response(spoken: Spoken, raw: bytes) -> None:
    spoken.server.says(raw=raw)
    with pytest.raises(InvalidModelResponse):
        spoken.model.complete(hello(spoken))


@pytest.mark.parametrize(
    "raw", [b"", b"hello\n\n", b"data: {oops\n\n", b"data: 5\n\n", b"data: [DONE]\n\n", b": ping\n\n", b"\xff\xfe\n"]
)
def test_a_garbled_stream_is_an_invalid_response(spoken: Spoken, raw: bytes) -> None:
    spoken.server.says(raw=raw)
    with pytest.raises(InvalidModelResponse):
        spoken.model.complete(hello(spoken), lambda _: None)


def test_a_connection_that_breaks_in_the_middle_is_a_connection_error(spoken: Spoken) -> None:
    spoken.server.says(**FULL, cut=True)
    with pytest.raises(ModelConnection):
        spoken.model.complete(hello(spoken))
    with pytest.raises(ModelConnection):
        spoken.model.complete(hello(spoken), lambda _: None)


def test_a_stream_that_ends_before_its_reply_is_a_connection_error(spoken: Spoken) -> None:
    """Where the length of a body is not told beforehand, a connection that breaks looks like its end."""
    spoken.server.says(raw=b"".join([*spoken.server.events({"content": "Half of what was meant"})][:-3]))
    with pytest.raises(ModelConnection):
        spoken.model.complete(hello(spoken), lambda _: None)


def test_a_reply_that_was_cut_by_its_limit_says_so_even_if_it_is_empty(spoken: Spoken) -> None:
    spoken.server.says(finish_reason="length")
    assert spoken.model.complete(hello(spoken)).finish_reason == "length"


def test_nobody_there_is_a_connection_error(spoken: Spoken) -> None:
    spoken.server.close()
    with pytest.raises(ModelConnection):
        spoken.model.complete(hello(spoken))
    assert spoken.model.models() == []


def test_a_provider_that_does_not_answer_is_a_time_out(spoken: Spoken) -> None:
    spoken.server.says(hang=True)
    with pytest.raises(ModelTimeout):
        spoken.model.complete(hello(spoken, timeout=0.1))


def test_a_provider_that_falls_silent_in_the_middle_is_a_time_out(spoken: Spoken) -> None:
    spoken.server.says(stall=True)
    with pytest.raises(ModelTimeout):
        spoken.model.complete(hello(spoken, timeout=0.1))


def test_a_provider_that_drips_is_a_time_out(spoken: Spoken) -> None:
    spoken.server.says(drip=True)
    with pytest.raises(ModelTimeout):
        spoken.model.complete(hello(spoken, timeout=0.3))
    with pytest.raises(ModelTimeout):
        spoken.model.complete(hello(spoken, timeout=0.3), lambda _: None)


def test_the_next_call_works_after_one_that_failed(spoken: Spoken) -> None:
    spoken.server.says(status=500, body={})
    with pytest.raises(ModelOverloaded):
        spoken.model.complete(hello(spoken))
    spoken.server.says(content="Back again.")
    assert spoken.model.complete(hello(spoken)).text == "Back again."


class Stopped(Exception):
    """Somebody does not want to hear more."""


def test_a_listener_that_stops_closes_the_connection(spoken: Spoken) -> None:
    spoken.server.says(content="word " * 2_000_000)

    def stop(delta: Delta) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        spoken.model.complete(hello(spoken), stop)
    assert spoken.server.gone.wait(10)


@pytest.mark.parametrize("text", [f"Incorrect API key provided: {KEY}.", f"Bearer {KEY} was refused", "x" * 5000])
def test_an_error_shows_neither_keys_nor_long_texts(spoken: Spoken, text: str) -> None:
    for status in (400, 401, 403):
        spoken.server.says(status=status, body={"error": {"message": text}})
        with pytest.raises(ModelError) as raised:
            spoken.model.complete(hello(spoken))
        assert "planted" not in str(raised.value)
        assert len(str(raised.value)) < 400
        refused = status == 401 or (status == 400 and "Incorrect API key" in text)  # xAI and Gemini refuse a key with 400
        assert ("the API key was refused" in str(raised.value)) is refused


def test_the_sdk_says_that_it_tried_once(spoken: Spoken) -> None:
    spoken.server.says(status=503, body={})
    with pytest.raises(ModelOverloaded):
        spoken.model.complete(hello(spoken), lambda _: None)
    assert len(spoken.server.requests) == 1


@pytest.mark.parametrize(
    "answer", [{"status": 401, "body": {}}, {"raw": b"what"}, {"raw": b'{"data": 5}'}, {"raw": b'{"data": [5]}'}]
)
def test_a_list_that_cannot_be_had_is_empty(spoken: Spoken, answer: dict[str, Any]) -> None:
    spoken.server.listing_says = answer
    assert spoken.model.models() == []
    assert spoken.model.embedding_models() == []


@pytest.mark.parametrize("streams", [False, True])
def test_an_address_that_answers_with_a_web_page_is_told_from_a_provider(spoken: Spoken, streams: bool) -> None:
    spoken.server.says(status=200, body=b"<!doctype html><title>Welcome</title>", headers={"content-type": "text/html"})
    with pytest.raises(InvalidModelResponse, match=r"answers with a web page instead of JSON; check the base URL"):
        spoken.model.complete(hello(spoken), (lambda _: None) if streams else None)


def test_a_provider_that_falls_silent_between_tokens_is_a_time_out_that_names_it(spoken: Spoken) -> None:
    spoken.server.says(content="Half of what was meant to be said here", holds=4)
    with pytest.raises(ModelTimeout, match=rf"^{spoken.kind}"):
        spoken.model.complete(hello(spoken, timeout=0.3), lambda _: None)


@pytest.mark.parametrize("make", [OpenAIModel, ResponsesModel, AnthropicModel, GeminiModel])
@pytest.mark.parametrize("key", ["sk-planted\n", "sk-planted\r\nx-evil: 1", "sk-plänted"])
def test_a_key_that_no_header_can_hold_is_named_and_not_sent(make: Any, key: str) -> None:
    with ScriptedOpenAI() as server:
        model = make(api_key=key, base_url=server.url, windows=ContextWindows())
        with pytest.raises(ModelAuthentication, match="the API key contains a line break or another character") as raised:
            model.complete(Spoken("openai", model, server).request(Rows().user("hi")))
        assert "sk-" not in raised.value.detail
        assert server.requests == []
        assert model.models() == []
