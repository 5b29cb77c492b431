"""The system message as a model is sent it: frozen for a window, with the updates of memory that newer messages carry.

The row of the system message shows clients the newest compilation (its `content`). This is the other half of the row, which no client
is shown: it keeps the beginning of a provider's prompt unchanged, so that the provider's cache and the binding of signed thinking hold.
"""

from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import Schema

PromptMode = Literal["frozen", "recompiled"]
"""What a run does whose agent's memory has changed: it tells the model in its newest message, or it replaces the system message."""


class MemoryUpdate(Schema):
    """A change of memory as the model is told it. `message_id`: the row that it is sent with; `tokens`: its size by our own count."""

    message_id: str
    text: str
    tokens: int


class FrozenPrompt(Schema):
    """What is sent in place of a system message's `content`.

    `text` is the frozen text; empty: the row's content itself. `basis` is a hash of all that is not memory, `shown` the hash of each part
    of memory as the model has been told it last, by the part's key. `updates` stand in the order in which they were told.
    """

    text: str = ""
    tokens: int = 0
    basis: str = ""
    shown: dict[str, str] = Field(default_factory=dict)
    updates: list[MemoryUpdate] = Field(default_factory=list)

    @property
    def update_tokens(self) -> int:
        """The size of all updates."""
        return sum(update.tokens for update in self.updates)
