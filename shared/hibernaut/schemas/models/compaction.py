"""Compaction of a conversation by request (Letta V1 API, digest 2.3 and 2.16)."""

from hibernaut.schemas.base import Schema
from hibernaut.schemas.models.model_settings import CompactionSettings
from hibernaut.schemas.usage import UsageStatistics


class CompactionRequest(Schema):
    """The request body; its settings override the agent's."""

    compaction_settings: CompactionSettings | None = None


class CompactionResponse(Schema):
    """The result. `summary` is the bare summary; the numbers count the messages of the window, including the system message.

    `usage` is the summariser's, for all pieces and attempts; V1 does not report it.
    """

    summary: str
    num_messages_before: int
    num_messages_after: int
    usage: UsageStatistics
