"""Compacting a conversation by request (Letta V1 API, digest 2.3 and 2.16)."""

from __future__ import annotations

from hibernaut.schemas.base import Schema
from hibernaut.schemas.model_settings import CompactionSettings
from hibernaut.schemas.usage import UsageStatistics


class CompactionRequest(Schema):
    """What is set in the settings counts over the agent's own."""

    compaction_settings: CompactionSettings | None = None


class CompactionResponse(Schema):
    """`summary` is the summary alone; the numbers count the messages of the window, its system message among them.

    `usage` are the summariser's tokens, all pieces and tries together: V1 does not show them.
    """

    summary: str
    num_messages_before: int
    num_messages_after: int
    usage: UsageStatistics
