"""What the models of one provider have refused, and the calls that do without it.

A wire has a value for what a model takes (its traits), a request that is built from it, and a function that reads a refusal.
Knows no wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from hibernaut.ports.model import Delta, ModelReply
from hibernaut.schemas.errors import ModelError

T = TypeVar("T")
Say = Callable[[Delta], None]


class Weaken(Protocol[T]):
    """Reads a refusal."""

    def __call__(self, traits: T, refusal: ModelError, /, *, streams: bool) -> T:
        """The traits without what the refusal names; the same traits if it names nothing that a request can do without.
        `streams`: the reply was to be streamed.
        """


class LearnedTraits(Generic[T]):
    """The traits of each model, by its name. `initial`: the traits of a model without refusals. `weaken`: the traits after a
    refusal; it must reach an end. Thread-safe.
    """

    def __init__(self, initial: Callable[[str], T], weaken: Weaken[T]) -> None:
        self._initial = initial
        self._weaken = weaken
        self._learned: dict[str, T] = {}

    def of(self, model: str) -> T:
        """What requests to this model are built by now."""
        found = self._learned.get(model)
        return self._initial(model) if found is None else found

    def complete(
        self,
        model: str,
        on_delta: Say | None,
        ask: Callable[[T, Say | None], ModelReply],
        *,
        persistent: Callable[[T], T] = lambda traits: traits,
    ) -> ModelReply:
        """The reply to `ask`. After a refusal the request is repeated without the refused parameter, until nothing can be
        omitted. It is not repeated after a piece of the reply was passed on. When a reply arrives, the weaker traits are stored:
        `persistent` is their part that applies to later requests too.

        Raises: ModelError, including the last refusal.
        """
        traits = first = self.of(model)
        listener = Listener(on_delta) if on_delta is not None else None
        while True:
            try:
                reply = ask(traits, listener)
            except ModelError as refusal:
                if listener is not None and listener.has_output:
                    raise
                weaker = self._weaken(traits, refusal, streams=listener is not None)
                if weaker == traits:
                    raise
                traits = weaker
                continue
            if traits != first:
                self._learned[model] = persistent(traits)
            return reply


class Listener:
    """Passes deltas on, and records whether there was one."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self.has_output = False

    def __call__(self, delta: Delta) -> None:
        self.has_output = True
        self._say(delta)
