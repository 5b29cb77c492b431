"""What a repair of a conversation found and did: the answer of POST /v1/agents/{id}/messages/repair, Hibernaut's own."""

from __future__ import annotations

from pydantic import Field

from hibernaut.schemas.base import Schema


class Repair(Schema):
    """All empty and `changed` False where nothing was wrong.

    `closed_calls` are the calls that stood open at the end of the log and got an error return. `released_run` is a run that held the
    conversation although it had ended, or was not there; `withdrawn_approval` the one that asked for an approval of which there is no
    record, or no open one; `dropped_from_queue` are runs in the queue that wait for nothing, and `waiting` how many wait in truth.
    `dropped_from_window` are ids in the window of which the log has no row.
    """

    changed: bool = False
    closed_calls: list[str] = Field(default_factory=list)
    released_run: str | None = None
    withdrawn_approval: str | None = None
    dropped_from_queue: list[str] = Field(default_factory=list)
    dropped_from_window: list[str] = Field(default_factory=list)
    waiting: int = 0
    active_run: str | None = None
    pending_approval: str | None = None
