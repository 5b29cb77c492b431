"""The system message in model requests: frozen for a window, with the updates of memory in newer messages.

The `content` of the row is the newest compilation; clients receive it. The frozen prompt is the other half of the row, which no
client receives. It keeps the beginning of a provider's prompt unchanged, so that the provider's cache and the binding of signed
thinking stay valid.
"""

from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import Schema

PromptMode = Literal["frozen", "recompiled"]
"""The reaction of a run to changed memory: an update in the newest message (`frozen`), or a new system message."""


class MemoryUpdate(Schema):
    """A change of memory, as text for the model. `message_id`: the row that carries it; `tokens`: its size by our own count."""

    message_id: str
    text: str
    tokens: int


class FrozenPrompt(Schema):
    """The text that replaces a system message's `content` in model requests.

    `text` is the frozen text; empty: the row's content itself. `basis` is a hash of all parts other than memory. `shown` has the
    hash of the last text that the model received for each part of memory, by the part's key. `updates` are in the order in which
    they were sent.
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
