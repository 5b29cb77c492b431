"""Sizes of rows, and what of a long tool return a model is sent."""

from __future__ import annotations

import json

from hibernaut.domain.models.tokens import count
from hibernaut.domain.turn.window import (
    CALL_TOKENS,
    IMAGE_TOKENS,
    ROW_TOKENS,
    SHORTEST_CLIP,
    as_sent,
    measured,
    tokens,
    tokens_of,
)
from hibernaut.schemas.content import Base64Image, ImageContent, ReasoningContent, TextContent
from tests.support.rows import STAMP, Rows, called, gave

rows = Rows()
LONG = "word " * 20_000


def test_a_row_is_as_large_as_what_it_says() -> None:
    assert tokens_of(rows.user("hello world")) == ROW_TOKENS + 2
    assert tokens_of(rows.assistant("hello", called("c1", "ring"))) == ROW_TOKENS + 1 + CALL_TOKENS + count("ring") + count("{}")
    image = ImageContent(source=Base64Image(media_type="image/png", data="AAAA"))
    assert tokens_of(rows.user([image, ReasoningContent(reasoning="hello")])) == ROW_TOKENS + IMAGE_TOKENS + 1
    returned = rows.tool(gave("c1", "It rains."))
    assert tokens_of(returned) == ROW_TOKENS + count(returned.tool_returns[0].func_response or "")
    returned.content = [TextContent(text=returned.tool_returns[0].func_response or "")]
    assert tokens_of(returned) == ROW_TOKENS + count(returned.text()), "the same text is not counted twice"


def test_a_size_is_counted_once() -> None:
    row = rows.user("hello world")
    measured([row])
    row.content = []
    assert tokens([row]) == tokens_of(row) == ROW_TOKENS + 2
    row.tokens = 77
    measured([row])
    assert tokens([row]) == 77


def test_a_return_that_would_fill_the_window_is_sent_in_part_and_stays_an_envelope() -> None:
    row = rows.tool(gave("c1", LONG), gave("c2", "short"))
    before = row.model_copy(deep=True)
    (sent,) = as_sent([row], 8_000)
    assert row.tool_returns == before.tool_returns, "the log keeps it whole"
    first, second = (each.func_response or "" for each in sent.tool_returns)
    envelope = json.loads(first)
    assert (envelope["status"], envelope["time"]) == ("OK", STAMP)
    assert envelope["message"].startswith("word word")
    assert "characters are left out" in envelope["message"]
    assert len(first) < 0.2 * 8_000 * 4 + 100
    assert second == row.tool_returns[1].func_response
    assert 0.8 < tokens([sent]) / (ROW_TOKENS + count(first) + count(second)) < 1.2
    assert as_sent([row], 8_000) == (sent,), "the same each time: the prompt's beginning stays"
    assert as_sent([row], 1_000_000) == (row,)


def test_a_return_that_is_no_envelope_is_clipped_too_but_never_to_less_than_the_least() -> None:
    row = rows.tool(gave("c1"))
    row.tool_returns[0].func_response = LONG
    (sent,) = as_sent([row], 100)
    assert (sent.tool_returns[0].func_response or "").startswith(LONG[:SHORTEST_CLIP])
    assert len(sent.text()) < SHORTEST_CLIP + 100
