"""The settings of capacity in the context: request rates, concurrent streams, the time of a custom tool and of an agent's reply.
Plain values.
"""

from __future__ import annotations

from collections.abc import Mapping

LONGEST_TOOL = 840
"""Seconds of a custom tool: what `advance_turn` and `run_tool` have, 900 each, less a minute for all else of a step."""
LONGEST_REPLY = 43_200
"""Seconds that an agent may wait for another one's reply: half of the longest run."""
NO_LIMIT = "none"


def number_in(context: Mapping[str, object], name: str, default: int) -> int:
    """A whole number from 1. Raises: ValueError."""
    text = str(context.get(name, default))
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{name} must be a whole number from 1, not {text!r}")
    return int(text)


def followers_in(context: Mapping[str, object], default: int | None) -> int | None:
    """The number of concurrent streams that are reserved from the account's quota; None: unreserved. Raises: ValueError."""
    text = str(context.get("followers", default or NO_LIMIT))
    if text == NO_LIMIT:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"followers must be a whole number from 1, or {NO_LIMIT}, not {text!r}")
    return int(text)


def tool_seconds_in(context: Mapping[str, object]) -> int | None:
    """The time limit of a custom tool in seconds; None: the server's own default. Raises: ValueError."""
    if context.get("toolTime") is None:
        return None
    seconds = number_in(context, "toolTime", 1)
    if seconds > LONGEST_TOOL:
        raise ValueError(f"toolTime must be from 1 to {LONGEST_TOOL} seconds, because a step ends after 900, not {seconds}")
    return seconds


def reply_seconds_in(context: Mapping[str, object]) -> int | None:
    """The seconds that an agent waits for another one's reply; None: the server's own default. Raises: ValueError."""
    if context.get("replyTime") is None:
        return None
    seconds = number_in(context, "replyTime", 1)
    if seconds > LONGEST_REPLY:
        raise ValueError(f"replyTime must be from 1 to {LONGEST_REPLY} seconds, because a run lives for a day, not {seconds}")
    return seconds
