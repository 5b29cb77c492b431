"""Reads the token counts of Chat Completions, which compatible servers put in different places."""

from __future__ import annotations

from hibernaut.adapters.model.wire.json_fields import count_of
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.usage import Usage


def usage_in(body: JsonObject) -> JsonObject | None:
    """The counts of a body or chunk: at the top, in `x_groq` (Groq), or in a choice (Moonshot). None: there are none."""
    groq, choices = body.get("x_groq"), body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    places = (body, groq, first)
    return next((used for place in places if isinstance(place, dict) and isinstance(used := place.get("usage"), dict)), None)


def usage_of(used: JsonObject) -> Usage:
    """The counts. Cached tokens stand in the details, in `prompt_cache_hit_tokens` (DeepSeek), or at the top (Moonshot,
    SGLang).
    """
    prompt, completion = count_of(used, "prompt_tokens") or 0, count_of(used, "completion_tokens") or 0
    of_prompt, of_completion = used.get("prompt_tokens_details"), used.get("completion_tokens_details")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=count_of(used, "total_tokens") or prompt + completion,
        cached_input_tokens=_first(
            count_of(of_prompt, "cached_tokens"), count_of(used, "cached_tokens"), count_of(used, "prompt_cache_hit_tokens")
        ),
        cache_write_tokens=count_of(of_prompt, "cache_write_tokens"),
        reasoning_tokens=_first(count_of(of_completion, "reasoning_tokens"), count_of(used, "reasoning_tokens")),
    )


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)
