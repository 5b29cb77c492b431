"""Which settings a group of agents may have (Letta V1 API, API 4.11). Pure."""

from __future__ import annotations

from hibernaut.schemas.errors import InvalidArgument

SHORTEST_BUFFER = 5
"""The smallest length of a message buffer."""


def check_lengths(most: int | None, least: int | None) -> None:
    """Check `max_message_buffer_length` and `min_message_buffer_length`.

    Raises: InvalidArgument unless both are absent, or the first one is larger and both are at least `SHORTEST_BUFFER`.
    """
    if most is None and least is None:
        return
    if most is None or least is None or least < SHORTEST_BUFFER or most <= least:
        raise InvalidArgument(
            "INVALID_ARGUMENT: max_message_buffer_length and min_message_buffer_length are given together, the first one is larger, "
            f"and both are at least {SHORTEST_BUFFER}; not {most} and {least}."
        )
