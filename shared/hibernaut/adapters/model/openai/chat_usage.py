"""Reads the token counts of Chat Completions, which compatible servers put in different places."""

from __future__ import annotations

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.usage import Usage


def usage_in(body: JsonObject) -> JsonObject | None:
    """The counts of a body or chunk: at the top, in `x_groq` (Groq), or in a choice (Moonshot). None: there are none."""
    groq, choices = body.get("x_groq"), body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    places = (body, groq, first)
    return next((used for place in places if isinstance(place, dict) and isinstance(used := place.get("usage"), dict)), None)


def usage_of(used: JsonObject) -> Usage:
    """The counts. Cached tokens stand in the details, in `prompt_cache_hit_tokens` (DeepSeek), or at the top (Moonshot, SGLang)."""
    prompt, completion = _count(used, "prompt_tokens") or 0, _count(used, "completion_tokens") or 0
    of_prompt, of_completion = used.get("prompt_tokens_details"), used.get("completion_tokens_details")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=_count(used, "total_tokens") or prompt + completion,
        cached_input_tokens=_first(
            _count(of_prompt, "cached_tokens"), _count(used, "cached_tokens"), _count(used, "prompt_cache_hit_tokens")
        ),
        cache_write_tokens=_count(of_prompt, "cache_write_tokens"),
        reasoning_tokens=_first(_count(of_completion, "reasoning_tokens"), _count(used, "reasoning_tokens")),
    )


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _count(counts: Json, name: str) -> int | None:
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
