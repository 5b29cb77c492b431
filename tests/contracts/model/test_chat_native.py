"""Reasoning on the chat wire: it goes back to the model that wrote it as it came, and to no other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hibernaut.adapters.model.dialects import (
    ANY,
    DEEPSEEK,
    GEMINI,
    GROQ,
    LM_STUDIO,
    MINIMAX,
    MISTRAL,
    MOONSHOT,
    OPENAI,
    OPENROUTER,
    ZAI,
    Dialect,
)
from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.messages.message import FunctionCall, Message, ToolCall
from hibernaut.schemas.models.llm_config import LLMConfig
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.rows import Rows, gave

CALL = {"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SIGNED = CALL | {"extra_content": {"google": {"thought_signature": "sig"}}}
SEALED = [{"type": "reasoning.encrypted", "data": "enc", "id": None, "format": "google-gemini-v1", "index": 0}]
REPLIES: dict[str, tuple[Dialect, dict[str, Any]]] = {
    "deepseek": (DEEPSEEK, {"content": None, "reasoning_content": "hm", "tool_calls": [CALL]}),
    "moonshot": (MOONSHOT, {"content": "so", "reasoning_content": "hm", "tool_calls": [CALL]}),
    "zai": (ZAI, {"content": None, "reasoning_content": "hm", "tool_calls": [CALL]}),
    "gemini": (GEMINI, {"content": None, "tool_calls": [SIGNED]}),
    "openrouter": (OPENROUTER, {"content": None, "reasoning_details": SEALED, "tool_calls": [CALL]}),
    "minimax": (MINIMAX, {"content": "<think>hm</think>\n\nso", "tool_calls": [CALL]}),
    "any": (ANY, {"content": None, "reasoning_content": "hm", "tool_calls": [CALL]}),
}


def talk(server: ScriptedOpenAI, dialect: Dialect, *messages: Any, streams: bool = False, model: str = "m") -> ModelReply:
    adapter = OpenAIModel(api_key=None, base_url=server.url, windows=ContextWindows(), name=dialect.name, dialect=dialect)
    config = LLMConfig(model=model, model_endpoint_type="openai", context_window=9)
    request = ModelRequest(config=config, system="s", messages=messages, timeout=20.0)
    return adapter.complete(request, (lambda _: None) if streams else None)


def answering(server: ScriptedOpenAI, message: dict[str, Any], *, streams: bool) -> None:
    """The server says the message, as a whole or member by member."""
    if not streams:
        server.says(raw=json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode())
        return
    deltas: list[dict[str, Any]] = [{"role": "assistant"}]
    for name, value in message.items():
        pieces = list(value) if isinstance(value, str) else [value] if value else []
        deltas += [{name: piece} for piece in pieces]
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas] + [{"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}]
    server.says(raw=b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n")


def logged(reply: ModelReply) -> list[Message]:
    """The reply as rows of the log, with the return of its call."""
    rows = Rows()
    calls = [ToolCall(id=call.id, function=FunctionCall(name=call.name, arguments=call.arguments)) for call in reply.tool_calls]
    said = rows.assistant(reply.text, *calls).model_copy(update={"native": reply.native, "step_id": "step-1"})
    return [rows.user("hi"), said, *([rows.tool(gave(calls[0].id))] if calls else [])]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("kind", REPLIES)
def test_a_step_of_a_tool_loop_goes_back_as_it_came(kind: str, streams: bool) -> None:
    dialect, message = REPLIES[kind]
    with ScriptedOpenAI() as server:
        answering(server, message, streams=streams)
        log = logged(talk(server, dialect, Rows().user("hi"), streams=streams))
        talk(server, dialect, *log, streams=streams)
        _, _, back, returned = server.requests[-1].body["messages"]
        assert back == {"role": "assistant"} | message
        assert returned["tool_call_id"] == CALL["id"]


@pytest.mark.parametrize("other", [MISTRAL, GROQ, OPENAI])
@pytest.mark.parametrize("kind", REPLIES)
def test_another_provider_never_gets_it(kind: str, other: Dialect) -> None:
    dialect, message = REPLIES[kind]
    with ScriptedOpenAI() as server:
        answering(server, message, streams=False)
        log = logged(talk(server, dialect, Rows().user("hi")))
        talk(server, other, *log)
        back = server.requests[-1].body["messages"][2]
        assert back.keys() == {"role", "content", "tool_calls"}
        assert "think" not in str(back)
        assert "extra_content" not in back["tool_calls"][0]


def test_another_model_of_the_same_provider_gets_our_form() -> None:
    with ScriptedOpenAI() as server:
        answering(server, REPLIES["openrouter"][1], streams=False)
        log = logged(talk(server, OPENROUTER, Rows().user("hi")))
        talk(server, OPENROUTER, *log, model="n")
        assert "reasoning_details" not in server.requests[-1].body["messages"][2]


@pytest.mark.parametrize("dialect", [MISTRAL, GROQ, OPENAI])
def test_what_never_goes_back_is_not_kept(dialect: Dialect) -> None:
    with ScriptedOpenAI() as server:
        answering(server, {"content": None, "reasoning_content": "hm", "tool_calls": [SIGNED]}, streams=False)
        assert talk(server, dialect, Rows().user("hi")).native is None


def test_plain_reasoning_of_an_answer_is_not_sent_back_but_a_signature_of_it_is() -> None:
    with ScriptedOpenAI() as server:
        answering(server, {"content": "so", "reasoning_content": "hm"}, streams=False)
        assert talk(server, DEEPSEEK, Rows().user("hi")).native is None
        answering(server, {"content": "so", "extra_content": {"google": {"thought_signature": "s"}}}, streams=False)
        log = logged(talk(server, GEMINI, Rows().user("hi")))
        talk(server, GEMINI, *log, Rows().user("more"))
        assert server.requests[-1].body["messages"][2]["extra_content"] == {"google": {"thought_signature": "s"}}


def test_streamed_pieces_of_one_reasoning_block_are_joined_and_blocks_stay_apart() -> None:
    pieces = [
        {"type": "reasoning.text", "text": "I ", "index": 0, "format": "anthropic-claude-v1"},
        {"type": "reasoning.text", "text": "think", "index": 0},
        {"type": "reasoning.text", "signature": "sig", "index": 0},
        {"type": "reasoning.encrypted", "data": "x", "index": 1},
        {"type": "reasoning.encrypted", "data": "y"},
        {"type": "reasoning.encrypted", "data": "z"},
    ]
    with ScriptedOpenAI() as server:
        chunks = [{"choices": [{"delta": {"reasoning_details": [piece]}}]} for piece in pieces]
        chunks += [
            {"choices": [{"delta": {"content": "so", "tool_calls": [CALL | {"index": 0}]}, "finish_reason": "tool_calls"}]}
        ]
        server.says(raw=b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks))
        reply = talk(server, OPENROUTER, Rows().user("hi"), streams=True)
        assert reply.native is not None
        assert reply.native.items[0]["reasoning_details"] == [
            {"type": "reasoning.text", "text": "I think", "index": 0, "format": "anthropic-claude-v1", "signature": "sig"},
            *pieces[3:],
        ]


@pytest.mark.parametrize("streams", [False, True])
def test_thoughts_in_the_text_are_reasoning(streams: bool) -> None:
    with ScriptedOpenAI() as server:
        answering(server, {"content": "\n<think>\nhm\n</think>\n\nThe answer, with <think> in it."}, streams=streams)
        reply = talk(server, LM_STUDIO, Rows().user("hi"), streams=streams)
        assert [part.reasoning for part in reply.reasoning] == ["hm\n"]
        assert reply.text == "The answer, with <think> in it."
        answering(server, {"content": "<think>cut off before its en"}, streams=streams)
        cut = {"choices": [{"message": {"content": "<think>cut off"}, "finish_reason": "length"}]}
        server.says(raw=json.dumps(cut).encode())
        reply = talk(server, LM_STUDIO, Rows().user("hi"))
        assert ([part.reasoning for part in reply.reasoning], reply.text) == (["cut off"], "")
