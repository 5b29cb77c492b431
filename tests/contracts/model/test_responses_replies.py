"""Replies of OpenAI's Responses wire: texts, reasoning, calls, usage and failures, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hibernaut.ports.model import Delta
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import SummarizedReasoningContent
from hibernaut.schemas.errors import (
    ContextWindowExceeded,
    InvalidModelResponse,
    ModelBadRequest,
    ModelConnection,
    ModelError,
    ModelOverloaded,
    ModelRateLimit,
)
from tests.contracts.model.spoken import Spoken, thoughts
from tests.support.responses_server import INTERLEAVED, message
from tests.support.rows import MEMORY_INSERT, SEARCH, Rows

MODEL = "gpt-5.6-sol"


def hello(spoken: Spoken) -> Any:
    return spoken.request(Rows().user("I live in Oslo"), model=MODEL, tools=(MEMORY_INSERT, SEARCH))


def test_withheld_reasoning_is_logged(responses: Spoken, caplog: pytest.LogCaptureFixture) -> None:
    withheld = [{"id": f"rs_{n}", "type": "reasoning", "action": "removed", "reason": "prefix_mismatch"} for n in range(2)]
    body = responses.server.whole({"content": "Yes."}) | {"input_transformations": withheld}
    responses.server.says(raw=json.dumps(body).encode())
    with caplog.at_level("INFO"):
        responses.model.complete(hello(responses))
    record = next(record for record in caplog.records if record.message == "reasoning withheld")
    assert (record.model, record.count, record.reasons) == (MODEL, 2, "prefix_mismatch")  # type: ignore[attr-defined]


def test_a_reply_is_read_with_all_its_usage(responses: Spoken) -> None:
    used = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 64},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 40},
        "total_tokens": 1050,
    }
    responses.server.says(content="Yes.", usage=used)
    usage = responses.model.complete(hello(responses)).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (1000, 50, 1050)
    assert (usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (900, 64, 40)


@pytest.mark.parametrize("streams", [True, False])
def test_pieces_join_to_the_whole(responses: Spoken, streams: bool) -> None:
    responses.server.says(items=[*INTERLEAVED, message("Two.", phase="final_answer"), message("I will not.", refusal=True)])
    heard: list[Delta] = []
    reply = responses.model.complete(hello(responses), heard.append if streams else None)
    assert reply.text == "I note that.\n\nTwo.\n\nI will not."
    assert reply.finish_reason == "refusal"
    assert [type(part) for part in reply.reasoning] == [SummarizedReasoningContent] * 2
    if streams:
        assert "".join(delta.text for delta in heard if delta.kind == "text") == reply.text
        assert "".join(delta.text for delta in heard if delta.kind == "reasoning") == thoughts(reply)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "server_error", "message": "Oops."}, ModelOverloaded),
        ({"code": "rate_limit_exceeded", "message": "Slow down."}, ModelRateLimit),
        ({"code": "context_length_exceeded", "message": "Your input exceeds the context window."}, ContextWindowExceeded),
        ({"code": "invalid_prompt", "message": "No."}, ModelBadRequest),
        (None, ModelOverloaded),
    ],
)
def test_a_response_that_failed_is_an_error_of_ours(responses: Spoken, error: Any, kind: type[ModelError]) -> None:
    failed = {"id": "resp_1", "object": "response", "status": "failed", "error": error, "output": [], "model": MODEL}
    responses.server.says(raw=json.dumps(failed).encode())
    with pytest.raises(ModelError) as whole:
        responses.model.complete(hello(responses))
    raw = json.dumps({"type": "response.failed", "response": failed})
    responses.server.says(raw=f"data: {raw}\n\n".encode())
    with pytest.raises(ModelError) as streamed:
        responses.model.complete(hello(responses), lambda _: None)
    assert (type(whole.value), type(streamed.value)) == (kind, kind)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down.", "param": None},
        {"type": "error", "error": {"code": "rate_limit_exceeded", "message": "Slow down."}},
        {"error": {"code": "rate_limit_exceeded", "message": "Slow down."}},
    ],
)
def test_an_error_in_a_stream_is_an_error_of_ours(responses: Spoken, event: JsonObject) -> None:
    responses.server.says(raw=f"data: {json.dumps(event)}\n\n".encode())
    with pytest.raises(ModelRateLimit):
        responses.model.complete(hello(responses), lambda _: None)


@pytest.mark.parametrize(
    "output", [[7], [{"type": 5}], [{"type": "function_call", "call_id": "c"}], 5, [{"type": "reasoning"}], []]
)
def test_output_that_is_none_is_an_invalid_response(responses: Spoken, output: Any) -> None:
    responses.server.says(raw=json.dumps({"status": "completed", "output": output}).encode())
    with pytest.raises(InvalidModelResponse):
        responses.model.complete(hello(responses))


def test_a_stream_that_is_cut_before_its_last_event_is_a_connection_error(responses: Spoken) -> None:
    events = [*responses.server.events({"content": "Half of it"})]
    for upto in range(1, len(events) - 1):
        responses.server.says(raw=b"".join(events[:upto]))
        with pytest.raises(ModelConnection):
            responses.model.complete(hello(responses), lambda _: None)
