"""A conversation's record, apart from its head and log (Letta V1 API, API 2.16 and 4.11). An agent's default conversation has
no record.
"""

from pydantic import Field, SerializerFunctionWrapHandler, field_serializer

from hibernaut.schemas.base import JsonObject, Moment, Schema, Whole
from hibernaut.schemas.limits import Name, Names, Small
from hibernaut.schemas.models.model_settings import CompactionSettings, ModelSettings
from hibernaut.schemas.stored import Stored

LONGEST_TEXT = 10_000
"""The longest summary or description in characters."""


class _Fields(Schema):
    """The fields that the record and the wire form share."""

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

    @field_serializer("model_settings", mode="wrap")
    def _as_given(self, settings: ModelSettings | None, serialize: SerializerFunctionWrapHandler) -> JsonObject | None:
        """The settings without a limit on the reply that nobody gave: read or written back, the default would count as given."""
        stored: JsonObject | None = serialize(settings)
        if settings is None or stored is None or "max_output_tokens" in settings.model_fields_set:
            return stored
        return {name: value for name, value in stored.items() if name != "max_output_tokens"}


class Conversation(_Fields):
    """The wire form. Unlike V1, it always has the current ids in context."""

    in_context_message_ids: list[str] = Field(default_factory=list)
    isolated_block_ids: list[str] = Field(default_factory=list)
    last_message_at: Moment | None = None


class StoredConversation(Stored, _Fields):
    """The stored record. `last_message_at` changes with each request, so it is stored in the list row. `version` counts changes.

    `isolated` maps a block of the agent to the private block that replaces it ("": the block is detached from the conversation).
    """

    isolated: dict[str, str] = Field(default_factory=dict)
    version: int = 1

    @property
    def isolated_block_ids(self) -> list[str]:
        return [block_id for block_id in self.isolated.values() if block_id]


class _Request(Schema):
    """The fields that requests to create and to update share."""

    summary: str | None = Field(default=None, max_length=LONGEST_TEXT)
    description: str | None = Field(default=None, max_length=LONGEST_TEXT)
    model: Name | None = None
    model_settings: Small[ModelSettings] | None = None
    context_window_limit: Whole | None = Field(default=None, gt=0)


class CreateConversation(_Request):
    """The body of POST /v1/conversations/. `isolated_block_labels`: the conversation gets its own copies of these blocks of the
    agent.
    """

    isolated_block_labels: Names | None = None
    hidden: bool = False


class UpdateConversation(_Request):
    """The body of PATCH /v1/conversations/{id}: present fields are set, and null clears them."""

    archived: bool | None = None
    last_message_at: Moment | None = None


class ForkQuery(Schema):
    """The query of POST /v1/conversations/{id}/fork. `message_id`: the last shared message."""

    agent_id: str | None = None
    hidden: bool = False
    message_id: str | None = None


class DirectRequest(Schema):
    """The body of POST /v1/conversations/{id}/recompile and /compact. `agent_id` is required with the id `default`."""

    agent_id: str | None = None
    compaction_settings: CompactionSettings | None = None
