"""The limits of tool calls, which their deployment sets."""

from __future__ import annotations

from hibernaut.schemas.immutable import immutable


@immutable
class ToolLimits:
    """The limits of one call: of a custom tool `timeout` in seconds and `memory` in bytes; `reply` are the seconds for which a
    call to other agents waits for their replies.
    """

    timeout: float = 60.0
    memory: int = 1_073_741_824
    reply: float = 3600.0
