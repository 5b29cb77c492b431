"""The result of repairing a conversation: the reply to POST /v1/agents/{id}/messages/repair, an extension of Hibernaut."""

from pydantic import Field

from hibernaut.schemas.base import Schema


class Repair(Schema):
    """The result of a repair; if nothing was wrong, all fields are empty and `changed` is False.

    `closed_calls` are open calls at the end of the log, which received an error return. `released_run` is an ended or missing run
    that still owned the conversation. `withdrawn_approval` is the run of an approval request without an open record.
    `dropped_from_queue` are queued runs that are not waiting, and `waiting` is the true number of waiting runs.
    `dropped_from_window` are ids of the window without a row in the log.
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
