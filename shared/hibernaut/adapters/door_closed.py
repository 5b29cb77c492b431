"""Why the door refuses a request (`adapters.door`). Imports nothing of HTTP."""

from __future__ import annotations


class DoorClosed(Exception):
    """A request may not be sent. The message is the end of a sentence about its address. `is_public`: the client that named the
    address may read it; otherwise the refusal must read like an unreachable server.
    """

    def __init__(self, reason: str, *, is_public: bool) -> None:
        self.is_public = is_public
        super().__init__(reason)
