"""A conversation as clients know it, beside its head and log (Letta V1 API, digest 2.16 and 4.11). An agent's own one has no record."""

from __future__ import annotations

from pydantic import Field

from hibernaut.schemas.base import Moment, Schema, Whole
from hibernaut.schemas.limits import Name, Names, Small
from hibernaut.schemas.model_settings import CompactionSettings, ModelSettings
from hibernaut.schemas.stored import Stored

LONGEST_TEXT = 10_000
"""Characters of a summary or a description."""


class _Fields(Schema):
    """What a record keeps and a client is shown."""

    id: str
    agent_id: str
    summary: str | None = None
    description: str | None = None
    model: str | None = None
    model_settings: ModelSettings | None = None
    context_window_limit: int | None = None
    archived: bool = False
    archived_at: Moment | None = None
    hidden: bool = False
    created_at: Moment
    updated_at: Moment
    created_by_id: str | None = None
    last_updated_by_id: str | None = None


class Conversation(_Fields):
    """As shown. Unlike V1, the ids in context are always the real ones."""

    in_context_message_ids: list[str] = Field(default_factory=list)
    isolated_block_ids: list[str] = Field(default_factory=list)
    last_message_at: Moment | None = None


class StoredConversation(Stored, _Fields):
    """What the table keeps. `last_message_at` changes with each request, so it lives in the list row, not here. `version` counts changes.

    `isolated`: which private block stands in the place of which block of the agent ("": the conversation has let it go).
    """

    isolated: dict[str, str] = Field(default_factory=dict)
    version: int = 1

    @property
    def isolated_block_ids(self) -> list[str]:
        return [block_id for block_id in self.isolated.values() if block_id]


class _Request(Schema):
    """The fields that creating and updating share."""

    summary: str | None = Field(default=None, max_length=LONGEST_TEXT)
    description: str | None = Field(default=None, max_length=LONGEST_TEXT)
    model: Name | None = None
    model_settings: Small[ModelSettings] | None = None
    context_window_limit: Whole | None = Field(default=None, gt=0)


class CreateConversation(_Request):
    """The body of POST /v1/conversations/. `isolated_block_labels`: these blocks of the agent become the conversation's own copies."""

    isolated_block_labels: Names | None = None
    hidden: bool = False


class UpdateConversation(_Request):
    """The body of PATCH /v1/conversations/{id}: what is named is set, and null clears it."""

    archived: bool | None = None
    last_message_at: Moment | None = None


class ForkQuery(Schema):
    """The query of POST /v1/conversations/{id}/fork. `message_id`: the last message that is shared."""

    agent_id: str | None = None
    hidden: bool = False
    message_id: str | None = None


class DirectRequest(Schema):
    """The body of POST /v1/conversations/{id}/recompile and /compact. `agent_id` goes with the id `default`."""

    agent_id: str | None = None
    compaction_settings: CompactionSettings | None = None
