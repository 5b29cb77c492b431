"""Fields whose names in the table are not those in the code: both directions keep the names of older versions."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from hibernaut.schemas.base import JsonObject, wire_time
from hibernaut.schemas.memory.file import Desk
from hibernaut.schemas.messages.letta_message import WireToolReturn
from hibernaut.schemas.runs.approval import PendingCall, Verdict
from hibernaut.schemas.runs.turn import AwaitedReply, Claim
from hibernaut.store.table.bodies.codec import json_of

AT = datetime(2026, 1, 2, tzinfo=UTC)
CALL = PendingCall(id="call-1", name="ring", arguments="{}")
RETURN = WireToolReturn(tool_return="done", status="success", tool_call_id="call-1")
STORED = [
    (Desk(last_accessed={"file-1": AT}), {"seen": {"file-1": wire_time(AT)}}),
    (
        Claim(call_id="call-1", name="ask", holder="", deadline=AT, awaits=[AwaitedReply(agent_id="agent-1", dispatched=True)]),
        {"awaits": [{"agent_id": "agent-1", "asked": True}]},
    ),
    (Verdict(call=CALL, decision="given", client_return=RETURN), {"given": json.loads(json_of(RETURN))}),
]


@pytest.mark.parametrize(("record", "names"), STORED, ids=lambda value: type(value).__name__)
def test_a_record_is_written_and_read_under_the_stored_names(record: BaseModel, names: JsonObject) -> None:
    stored = json_of(record)
    assert json.loads(stored).items() >= names.items()
    assert type(record).model_validate_json(stored) == record
