"""Separates reasoning that a server leaves in the text, between `<think>` and `</think>`, from the text. Knows no wire format.

Servers without a reasoning parser for their model do so (vLLM, SGLang, llama.cpp and LM Studio as set up, MiniMax). Only a text that
begins with the tag is separated, so that a text about the tag stays whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

OPEN, CLOSE = "<think>", "</think>"


@dataclass(slots=True)
class ThinkTags:
    """The state of one text, whose pieces may end anywhere. `off`: the text holds no tags."""

    off: bool = False
    _state: Literal["before", "inside", "behind", "text"] = "before"
    _held: str = ""
    _thought: bool = False

    def take(self, piece: str) -> Iterator[tuple[Literal["reasoning", "text"], str]]:
        """The reasoning and the text that are certain after this piece."""
        if self.off:
            yield "text", piece
            return
        self._held += piece
        if self._state == "before":
            yield from self._begin()
        if self._state == "inside":
            yield from self._inside()
        if self._state == "behind" and (text := self._held.lstrip()):
            self._state, self._held = "text", text
        if self._state == "text" and self._held:
            text, self._held = self._held, ""
            yield "text", text

    def end(self) -> Iterator[tuple[Literal["reasoning", "text"], str]]:
        """What was held back. A tag that is never closed holds reasoning to the end."""
        held, self._held = self._held, ""
        if held and self._state in ("before", "inside"):
            yield ("text" if self._state == "before" else "reasoning"), held

    def _begin(self) -> Iterator[tuple[Literal["reasoning", "text"], str]]:
        start = self._held.lstrip()
        if start.startswith(OPEN):
            self._state, self._held = "inside", start[len(OPEN) :]
        elif not OPEN.startswith(start):
            self._state = "text"
        yield from ()

    def _inside(self) -> Iterator[tuple[Literal["reasoning", "text"], str]]:
        if not self._thought:
            self._held = self._held.lstrip()
        thought, tag, rest = self._held.partition(CLOSE)
        self._thought = self._thought or bool(thought)
        if tag:
            self._state, self._held = "behind", rest
            yield "reasoning", thought
            return
        kept = next((size for size in range(len(CLOSE) - 1, 0, -1) if thought.endswith(CLOSE[:size])), 0)
        self._held = thought[len(thought) - kept :]
        yield "reasoning", thought[: len(thought) - kept]
