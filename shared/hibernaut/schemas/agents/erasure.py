"""The erasure of a person: its record, its receipt, and its check. An extension of Hibernaut; V1 has none.

A receipt contains ids, numbers and hashes, and no text of the person.
"""

from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.stored import Stored

ErasureState = Literal["running", "completed"]
Phase = Literal["agents", "parts", "others", "deliveries", "batches", "templates", "blobs", "check", "over"]
"""The stages of an erasure, in this order. `others`: agents that stay. `over`: the erasure is complete."""
Subject = Literal["agent", "block", "archive", "folder", "file", "passage", "template", "batch"]
Extent = Literal["planned", "whole", "parts", "kept"]
"""`whole`: the record with everything that belongs to it. `parts`: the person's texts, in a record that stays. `kept`: nothing,
because others use the record too.
`planned`: not decided yet.
"""
MOST_FOUND = 100
"""The largest number of remains that a check names."""


class LogCursor(Schema):
    """How far the log of an agent that stays is examined. `after`: the last row; `within`: it belongs to a turn of the person;
    `run_id`: the run of the person's newest message; `erased`: whether a row of this conversation was erased; `rows`: how many of
    this agent.
    """

    conversation: str = ""
    after: str = ""
    within: bool = False
    run_id: str = ""
    erased: bool = False
    rows: int = 0


class ErasureRemnant(Schema):
    """What a check has found. `where`: `table`, `index` or `blobs`; `kind` and `id`: the record that it belongs to."""

    where: Literal["table", "index", "blobs"]
    kind: str
    id: str


class ErasureCheck(Schema):
    """The newest check. `found`: at most 100 remains; empty: nothing is found. `index`: whether the index was searched; otherwise
    only its outbox was read.
    """

    state: Literal["requested", "completed"]
    requested_at: Moment
    completed_at: Moment | None = None
    found: list[ErasureRemnant] = Field(default_factory=list)
    index: bool = False


class StoredErasure(Stored):
    """The stored record. `senders`: the values of `sender_id` that mean the person, until the erasure is completed. `cursor`: how
    far the phase is done.
    `settled_at`: when the last record was erased. `lease`: until when a worker holds it. `version` counts changes.
    """

    id: str
    identity_id: str
    salt: str
    digest: str
    key_id: str | None = None
    state: ErasureState = "running"
    phase: Phase = "agents"
    cursor: str = ""
    log: LogCursor = Field(default_factory=LogCursor)
    senders: list[str] = Field(default_factory=list)
    started_at: Moment
    settled_at: Moment | None = None
    completed_at: Moment | None = None
    check: ErasureCheck | None = None
    lease: Moment | None = None
    version: int = 1

    def wire(self, receipt: list["ErasureLine"]) -> "Erasure":
        """The wire form with these lines of the receipt."""
        totals: dict[str, int] = {}
        for line in receipt:
            if line.extent in ("whole", "parts"):
                totals[f"{line.kind}s_{line.extent}"] = totals.get(f"{line.kind}s_{line.extent}", 0) + 1
            for noun, number in line.counts.items():
                totals[noun] = totals.get(noun, 0) + number
        return Erasure(
            id=self.id,
            identity_id=self.identity_id,
            state=self.state,
            phase=None if self.phase == "over" else self.phase,
            key_id=self.key_id,
            salt=self.salt,
            identifier_digest=self.digest,
            started_at=self.started_at,
            completed_at=self.completed_at,
            totals=totals,
            receipt=receipt,
            check=self.check,
        )


class ErasureLine(Schema):
    """A line of a receipt: a record, and its erased parts. `counts`: by noun. `version` and `hash`: the newest version of its
    history, which was erased too. `conversation_ids`: the conversations that an agent had besides its default one. `to_review`:
    blocks that stay and that runs of the person changed.
    """

    kind: Subject
    id: str
    extent: Extent = "planned"
    done: bool = False
    counts: dict[str, int] = Field(default_factory=dict)
    version: int | None = None
    hash: str | None = None
    conversation_ids: list[str] = Field(default_factory=list)
    to_review: list[str] = Field(default_factory=list)


class Erasure(Schema):
    """The wire form. `identifier_digest`: SHA-256, in hexadecimal, of the salt and the person's `identifier_key`. `totals`: of
    the lines of the receipt.
    """

    id: str
    identity_id: str
    state: ErasureState
    phase: Phase | None = None
    key_id: str | None = None
    salt: str
    identifier_digest: str
    started_at: Moment
    completed_at: Moment | None = None
    totals: dict[str, int]
    receipt: list[ErasureLine]
    check: ErasureCheck | None = None


class ErasureSummary(Schema):
    """An erasure in a list, without its receipt."""

    id: str
    identity_id: str
    state: ErasureState
    started_at: Moment
    completed_at: Moment | None = None
