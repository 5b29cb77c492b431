"""Token usage (Letta V1 API, digest 4.7 and 4.8; run-time digest 13.3). Null means that no step reported the figure, not zero."""

from __future__ import annotations

from typing import Literal, Self

from hibernaut.schemas.base import Frozen, Schema


class Usage(Frozen):
    """The usage of one model call in tokens."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def plus(self, other: Usage) -> Usage:
        """The sum; a figure is null only if both are null."""
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            cached_input_tokens=_sum(self.cached_input_tokens, other.cached_input_tokens),
            cache_write_tokens=_sum(self.cache_write_tokens, other.cache_write_tokens),
            reasoning_tokens=_sum(self.reasoning_tokens, other.reasoning_tokens),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


class LettaUsageStatistics(Schema):
    """The usage of a run in replies and streams; `context_tokens` is the size of the context after the last step."""

    message_type: Literal["usage_statistics"] = "usage_statistics"
    completion_tokens: int = 0
    prompt_tokens: int = 0
    total_tokens: int = 0
    step_count: int = 0
    run_ids: list[str] | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    context_tokens: int | None = None


class PromptTokensDetails(Schema):
    """Details of the prompt's tokens."""

    cached_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None


class CompletionTokensDetails(Schema):
    """Details of the completion's tokens."""

    reasoning_tokens: int | None = None


class UsageStatistics(Schema):
    """The usage as the API reports it on request; details are present only if a provider reported them."""

    completion_tokens: int = 0
    prompt_tokens: int = 0
    total_tokens: int = 0
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None

    @classmethod
    def of(cls, usage: Usage) -> Self:
        cached, written, reasoning = usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens
        details = PromptTokensDetails(cached_tokens=cached, cache_read_tokens=cached, cache_creation_tokens=written)
        return cls(
            completion_tokens=usage.completion_tokens,
            prompt_tokens=usage.prompt_tokens,
            total_tokens=usage.total_tokens,
            prompt_tokens_details=None if cached is None and written is None else details,
            completion_tokens_details=None if reasoning is None else CompletionTokensDetails(reasoning_tokens=reasoning),
        )


class RunUsage(UsageStatistics):
    """The body of GET /v1/runs/{id}/usage: the usage of the steps, as in V1, and the usage of the summaries (null: none)."""

    summaries: UsageStatistics | None = None
