"""Versions of memory: the author, the time and the content of each change of a block, an agent or a passage."""

from typing import Any, Literal

from pydantic import Field

from hibernaut.schemas.base import Frozen, JsonObject, Moment, Schema, StrictSchema
from hibernaut.schemas.memory.block import Block
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.stored import Stored

ChangeKind = Literal["created", "updated", "rolled_back", "deleted"]
AuthorSource = Literal["run", "api", "server"]
LARGEST_VERSION = 2**53
"""The largest number that a version may have in a request."""


class Author(Frozen):
    """The author of a change: a run of an agent, a request to the API, or the server itself.

    `tools`: the tools with which the run made the change. `agent_id` and `agent_type`: the agent of the run, which may be a
    sleep-time agent that shares the record. `key_id`: the API key of the request, or of the message that began the run.
    """

    source: AuthorSource = "server"
    key_id: str | None = None
    run_id: str | None = None
    step_id: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    tools: list[str] = Field(default_factory=list)


SERVER = Author()


class StoredVersion(Schema):
    """The stored part of a version, in addition to the previous record. The hash omits fields that have their default values.

    `fields`: the names of the changed fields. `restored`: the version whose values a rollback restored. `after`: the digest of
    the record after the change, without its counters. `previous`: the hash of the previous version; "" for the first one. `hash`
    covers all of them, and the previous record.
    """

    version: int
    change: ChangeKind
    at: Moment
    by: Author = Field(default_factory=Author)
    fields: list[str] = Field(default_factory=list)
    restored: int | None = None
    after: str = ""
    previous: str = ""
    hash: str = ""


class PriorRecord(Stored):
    """The record before a change, as JSON."""

    content: JsonObject = Field(default_factory=dict)


class RecordVersion(Schema):
    """A version in the form of the API. If the server did not record versions yet at that time, `by` is null and `change` is
    `unrecorded`.
    """

    version: int
    change: ChangeKind | Literal["unrecorded"]
    at: Moment | None
    by: Author | None = None
    fields: list[str] = Field(default_factory=list)
    restored_version: int | None = None
    hash: str | None = None
    previous_hash: str | None = None


class BlockVersion(RecordVersion):
    """A version of a block. `block`: the block after this version; null in lists, and after a deletion."""

    block_id: str
    block: Block | None = None


class PassageVersion(RecordVersion):
    """A version of a passage: its creation, its deletion, or its restoration. `passage`: the passage after this version; null
    after a deletion.
    """

    archive_id: str
    passage_id: str
    passage: Passage | None = None


class FieldDiff(Schema):
    """One field that differs. `lines`: a unified diff of a text with several lines."""

    field: str
    before: Any = None
    after: Any = None
    lines: list[str] | None = None


class VersionDiff(Schema):
    """What differs between two versions of a record. `from_version` 0: there was nothing before."""

    from_version: int
    to_version: int
    changes: list[FieldDiff] = Field(default_factory=list)


class RunVersion(Schema):
    """A version that a run wrote, and what it changed: of a block, of its agent's settings (`agent_id`), or of a passage that it
    inserted (`archive_id`, `passage_id`). The ids of the other kinds are null.
    """

    block_id: str | None = None
    label: str | None = None
    agent_id: str | None = None
    archive_id: str | None = None
    passage_id: str | None = None
    version: RecordVersion
    changes: list[FieldDiff] = Field(default_factory=list)


class Rollback(StrictSchema):
    """The body of a rollback. `current_version`: the version on which the caller decided; another one answers 409. Null:
    whichever it is.
    """

    version: int = Field(ge=1, le=LARGEST_VERSION)
    current_version: int | None = Field(default=None, ge=1, le=LARGEST_VERSION)


class NotedHead(Schema):
    """The newest version of a record and its hash, as an audit printed them. `kind`: `agent`, `block` or `passage`."""

    kind: str
    subject: str
    version: int
    hash: str


class ChainReport(NotedHead):
    """The result of an audit for one record. `first`: the oldest retained version. `fault`: the first broken link; null: the
    chain is intact. `erasure`: the erasure of a person that deleted the record and its versions. `archive_id`: the archive of a
    passage.
    """

    first: int = 0
    fault: str | None = None
    erasure: str | None = None
    archive_id: str | None = None


class AuditPage(Schema):
    """A page of an audit. `next`: what `after` takes for the following page; null: everything was checked."""

    records: list[ChainReport]
    next: str | None = None
