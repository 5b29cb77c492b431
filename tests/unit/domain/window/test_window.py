"""Sizes of rows."""

from __future__ import annotations

import pytest

from hibernaut.domain.models.token_factors import CLAUDE_FROM_47
from hibernaut.domain.models.tokens import count
from hibernaut.domain.window.window import (
    CALL_TOKENS,
    IMAGE_TOKENS,
    ROW_TOKENS,
    correction_for,
    measured,
    tokens,
    tokens_of,
)
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.content import Base64Image, ImageContent, ReasoningContent, TextContent
from hibernaut.schemas.messages.native import NativeReply
from tests.support.rows import NOW, Rows, called, gave

rows = Rows()


def test_a_row_is_as_large_as_what_it_says() -> None:
    assert tokens_of(rows.user("hello world")) == ROW_TOKENS + 2
    assert tokens_of(rows.assistant("hello", called("c1", "ring"))) == ROW_TOKENS + 1 + CALL_TOKENS + count("ring") + count("{}")
    image = ImageContent(source=Base64Image(media_type="image/png", data="AAAA"))
    assert tokens_of(rows.user([image])) == ROW_TOKENS + IMAGE_TOKENS
    returned = rows.tool(gave("c1", "It rains."))
    assert tokens_of(returned) == ROW_TOKENS + count(returned.tool_returns[0].func_response or "")
    returned.content = [TextContent(text=returned.tool_returns[0].func_response or "")]
    assert tokens_of(returned) == ROW_TOKENS + count(returned.text()), "the same text is not counted twice"


def test_reasoning_counts_where_a_request_sends_it_back() -> None:
    thought = "I think, therefore I count. " * 50
    silent = rows.assistant([ReasoningContent(reasoning=thought), TextContent(text="hello")])
    assert tokens_of(silent) == ROW_TOKENS + 1
    replayed = silent.model_copy(update={"native": NativeReply(wire="chat", provider="deepseek", model="m", items=[])})
    signed = rows.assistant([ReasoningContent(reasoning=thought, signature="s"), TextContent(text="hello")])
    argument = rows.assistant([ReasoningContent(reasoning=thought, is_native=False), TextContent(text="hello")])
    assert {tokens_of(row) for row in (replayed, signed, argument)} == {ROW_TOKENS + 1 + count(thought)}


def head(counted: int, reported: int, model: str) -> Head:
    return Head(id="conv-1", agent_id="agent-1", created_at=NOW, counted=counted, reported=reported, measured_with=model)


def test_what_a_provider_reported_corrects_the_next_count_of_the_same_model_only() -> None:
    said = [rows.user("It is a fine day, and we shall walk to the harbour. " * 20)]
    learned = head(1000, 1250, "claude-opus-4-8")
    assert correction_for(learned, "claude-opus-4-8", said, 0) == 1.25
    assert correction_for(learned, "claude-opus-5-5", said, 0) == pytest.approx(CLAUDE_FROM_47["prose"])
    assert correction_for(learned, "gpt-6.1-sol", said, 0) == 1.0
    assert correction_for(head(1000, 400, "gpt-4o"), "gpt-4o", said, 0) == 1.0, "that was only what the cache did not hold"


def test_before_the_first_reply_each_text_weighs_as_its_kind_does() -> None:
    english = rows.user("It is a fine day, and we shall walk to the harbour. " * 20)
    hindi = rows.user("आज मौसम बहुत अच्छा है और हम बंदरगाह तक चलेंगे। " * 20)
    new, model = head(0, 0, ""), "claude-opus-5-5"
    both = correction_for(new, model, [english, hindi], 0)
    assert CLAUDE_FROM_47["prose"] < both < CLAUDE_FROM_47["foreign"]
    tools = 10 * tokens([english])
    assert CLAUDE_FROM_47["json"] < correction_for(new, model, [english], tools) < CLAUDE_FROM_47["prose"]
    assert correction_for(new, model, [], 0) == 1.0
    call = rows.assistant("", called("c1", "write", text="{" + '"a": "b", ' * 50))
    assert correction_for(new, model, [call], 0) == pytest.approx(CLAUDE_FROM_47["json"])


def test_a_size_is_counted_once() -> None:
    row = rows.user("hello world")
    measured([row])
    row.content = []
    assert tokens([row]) == tokens_of(row) == ROW_TOKENS + 2
    row.tokens = 77
    measured([row])
    assert tokens([row]) == 77
