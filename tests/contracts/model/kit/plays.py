"""What a scenario lets a model say, in no provider's words. Each wire's server puts it into its own form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

TALE = "I walked through Oslo in the rain, and every bell of the town rang. " * 40
"""A message that is long enough to be summarised."""
Trouble = Literal["too_long", "rate_limit", "overloaded", "wrong_key", "no_credit", "gone", "html", "image"]
"""What a provider answers instead of a reply: the prompt is too long, a limit on the rate is reached, the service is down, the
key is wrong, the account has no credit, the model is gone, a web page where the address is no API's, or it takes no image, or not
this one.
"""


@dataclass(frozen=True)
class Think:
    """A thought that the model shows; `sealed`: hidden, where the provider hides some. A wire whose model shows none leaves it
    out.
    """

    text: str
    sealed: bool = False


@dataclass(frozen=True)
class Speak:
    """Text for the user."""

    text: str


@dataclass(frozen=True)
class ToolUse:
    """A tool call. The server gives it an id in its provider's form."""

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)


Part = Think | Speak | ToolUse


@dataclass(frozen=True)
class ModelSpeech:
    """A reply, its parts in the order in which the model makes them.

    `cut`: the connection breaks after this share of the stream's bytes. `refused`: the model declines, in the provider's way.
    """

    parts: tuple[Part, ...]
    cut: float | None = None
    refused: bool = False


@dataclass(frozen=True)
class Fault:
    """An error response in the provider's own form."""

    kind: Trouble


Play = ModelSpeech | Fault


def ring(number: int = 1) -> ToolUse:
    """A call of the custom tool `ring`."""
    return ToolUse("ring", {"x": f"bell {number}"})


def reply(*parts: Part | str) -> ModelSpeech:
    """A reply of these parts; a text is spoken."""
    return ModelSpeech(tuple(Speak(part) if isinstance(part, str) else part for part in parts))
