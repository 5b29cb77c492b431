"""Compaction of a conversation by request (Letta V1 API, API 2.3 and 2.16)."""

from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.models.model_settings import CompactionMode, CompactionSettings
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


class DroppedMessage(Schema):
    """A message that a compaction would remove from the window. `text` is the beginning of what it says; `tokens` are as the
    provider would count them.
    """

    id: str
    role: str
    created_at: Moment
    tokens: int
    text: str = ""


class CompactionPlan(Schema):
    """What a compaction would do now, an extension of Hibernaut. Sizes are in tokens as the provider would count them.

    `mode`: the first mode that can divide the window; null if none can, and nothing would be dropped. `threshold`: the size of a
    request above which a run compacts by itself. `tokens` is the size now. `tokens_after` is that of what stays, to which the
    summary adds at most `summary_limit`.
    """

    mode: CompactionMode | None = None
    context_window: int
    threshold: int
    tokens: int
    tokens_after: int
    summary_limit: int = 0
    num_messages: int
    num_messages_after: int
    dropped: list[DroppedMessage]
