"""Separates reasoning that a server leaves in the text, between `<think>` and `</think>`, from the text. Knows no wire format.

Bedrock writes `<reasoning>` for gpt-oss (langchain-ai/langchain-aws#581).

Servers without a reasoning parser for their model do so (vLLM, SGLang, llama.cpp and LM Studio as set up, MiniMax). Only a text
that begins with the tag is separated, so that a text about the tag stays whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TAGS = ("<think>", "</think>"), ("<reasoning>", "</reasoning>")


@dataclass(slots=True)
class ThinkTags:
    """The state of one text; its pieces may end anywhere. `off`: the text contains no tags."""

    off: bool = False
    _state: Literal["before", "inside", "behind", "text"] = "before"
    _buffer: str = ""
    _thought: bool = False
    _close: str = ""

    def take(self, piece: str) -> Iterator[tuple[Literal["reasoning", "text"], str]]:
        """The reasoning and the text that are certain after this piece."""
        if self.off:
            yield "text", piece
            return
        self._buffer += piece
        if self._state == "before":
            yield from self._begin()
        if self._state == "inside":
            yield from self._inside()
        if self._state == "behind" and (text := self._buffer.lstrip()):
            self._state, self._buffer = "text", text
        if self._state == "text" and self._buffer:
            text, self._buffer = self._buffer, ""
            yield "text", text

    def end(self) -> Iterator[tuple[Literal["reasoning", "text"], str]]:
        """The buffered rest. The text after a tag that is never closed is reasoning."""
        rest, self._buffer = self._buffer, ""
        if rest and self._state in ("before", "inside"):
            yield ("text" if self._state == "before" else "reasoning"), rest

    def _begin(self) -> Iterator[tuple[Literal["reasoning", "text"], str]]:
        start = self._buffer.lstrip()
        found = next((tags for tags in TAGS if start.startswith(tags[0])), None)
        if found is not None:
            self._state, self._buffer, self._close = "inside", start[len(found[0]) :], found[1]
        elif not any(opening.startswith(start) for opening, _ in TAGS):
            self._state = "text"
        yield from ()

    def _inside(self) -> Iterator[tuple[Literal["reasoning", "text"], str]]:
        if not self._thought:
            self._buffer = self._buffer.lstrip()
        thought, tag, rest = self._buffer.partition(self._close)
        self._thought = self._thought or bool(thought)
        if tag:
            self._state, self._buffer = "behind", rest
            yield "reasoning", thought
            return
        overlap = next((size for size in range(len(self._close) - 1, 0, -1) if thought.endswith(self._close[:size])), 0)
        self._buffer = thought[len(thought) - overlap :]
        yield "reasoning", thought[: len(thought) - overlap]
