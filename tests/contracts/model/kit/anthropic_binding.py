"""How Claude's thinking is bound: what a signature stands for, and which blocks of a request fail their checks.

Source: platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks: "A prefix check fails if `system`,
`tools`, or an earlier message changed after Claude produced a block. It also fails if a thinking block between others was left
out or moved."
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contracts.model.kit.rules import ServerMemory
from tests.support.provider_http import Recorded, Wire

THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True)
class ThinkingPlace:
    """A thinking block of a request: where it stands, the digest of what stands before it, and the thinking block before it."""

    message: int
    block: int
    content: Wire
    prefix: str
    before: str | None

    @property
    def path(self) -> str:
        return f"messages.{self.message}.content.{self.block}"


def mark(block: Wire) -> str:
    """What tells a thinking block from all others."""
    return str(block.get("signature") or block.get("data") or "")


def content_of(message: Wire) -> list[Wire]:
    """A message's blocks: a text is shorthand for one block (anthropic/types/message_create_params.py, `messages`)."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def without_markers(value: Any) -> Any:
    """The value without cache markers, which are no part of what the model reads."""
    if isinstance(value, dict):
        return {name: without_markers(each) for name, each in value.items() if name != "cache_control"}
    return [without_markers(each) for each in value] if isinstance(value, list) else value


class Prefix:
    """What the model has read so far: system and tools, then each block with its role. Thinking blocks are checked on their
    own.
    """

    def __init__(self, body: Wire) -> None:
        self._digest = hashlib.sha256()
        system = body.get("system") or []
        self._add([[{"type": "text", "text": system}] if isinstance(system, str) else system, body.get("tools") or []])

    def _add(self, value: Any) -> None:
        self._digest.update(json.dumps(without_markers(value), sort_keys=True).encode())

    def add(self, role: str, block: Wire) -> None:
        if block.get("type") not in THINKING:
            self._add([role, block])

    def digest(self) -> str:
        return self._digest.copy().hexdigest()[:32]


def places(body: Wire) -> Iterator[ThinkingPlace]:
    """The thinking blocks of a request, in order."""
    prefix, before = Prefix(body), None
    for at, message in enumerate(body.get("messages") or ()):
        for number, block in enumerate(content_of(message)):
            if block.get("type") in THINKING:
                yield ThinkingPlace(at, number, block, prefix.digest(), before)
                before = mark(block)
            prefix.add(message.get("role", ""), block)


def sealed(asked: Recorded, blocks: Sequence[Wire], memory: ServerMemory) -> list[Wire]:
    """A reply's blocks, each thinking block with a signature of its own; the memory keeps what it stands for."""
    prefix, last = Prefix(asked.body), None
    for message in asked.body["messages"]:
        for block in content_of(message):
            last = mark(block) if block.get("type") in THINKING else last
            prefix.add(message["role"], block)
    found = []
    for block in blocks:
        if block["type"] in THINKING:
            signature = f"sig-{asked.body['model']}-{len(memory.seals):04d}-{prefix.digest()}"
            block = block | ({"signature": signature} if block["type"] == "thinking" else {"data": signature})
            memory.seals[signature] = {"prefix": prefix.digest(), "before": last, "model": asked.body["model"], "block": block}
            last = signature
        prefix.add("assistant", block)
        found.append(block)
    return found


def misplaced(body: Wire, memory: ServerMemory) -> Iterator[ThinkingPlace]:
    """The blocks that fail the prefix check; what no seal is known of is not among them."""
    for place in places(body):
        seal = memory.seals.get(mark(place.content))
        if seal and (seal["prefix"] != place.prefix or place.before not in (None, seal["before"])):
            yield place
