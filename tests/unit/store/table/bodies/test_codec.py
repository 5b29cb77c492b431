"""The JSON of records: short, and read as the record that was written."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hibernaut.schemas.agents.conversation import Head, Window
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.events import DoneEvent, EventBatch, StopEvent
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.stored import Stored
from hibernaut.schemas.usage import Usage
from hibernaut.store.table.bodies.codec import json_of

NOW = datetime(2026, 11, 23, tzinfo=UTC)
RUN = StoredRun(id="run-1", agent_id="agent-1", created_at=NOW, options=RunOptions(max_steps=5))


def test_members_that_are_read_the_same_without_being_written_are_left_out() -> None:
    assert json_of(RUN) == (
        '{"id":"run-1","agent_id":"agent-1","status":"created","created_at":"2026-11-23T00:00:00.000000Z","options":{"max_steps":5}}'
    )


@pytest.mark.parametrize(
    "record",
    [
        RUN.model_copy(
            update={"metadata": {"a": None, "b": [], "c": 0, "d": {"e": ""}}, "background": False, "usage": Usage(cost=None)}
        ),
        RUN.model_copy(update={"ttft_ns": 0, "speaks_by_tool": False, "last_return": "", "tool_history": ["x"], "steps": 0}),
        Message(id="message-1", role="user", agent_id="agent-1", created_at=NOW, content=[TextContent(text="")], is_err=False),
        Head(id="agent-1", agent_id="agent-1", window=Window(pinned=["message-1"]), calls_open=False, created_at=NOW),
        EventBatch(first_seq=1, events=[StopEvent(stop_reason=StopReason.END_TURN), DoneEvent()]),
    ],
    ids=lambda record: type(record).__name__,
)
def test_what_is_written_is_read_again(record: Stored) -> None:
    assert type(record).model_validate_json(json_of(record)) == record
