"""Blocks and calls as the tests of core memory make them."""

from __future__ import annotations

from hibernaut.domain.memory.memory_edits import EditResult, apply
from hibernaut.schemas.base import Json
from hibernaut.schemas.memory.block import Block

POEM = "roses are red\nviolets are blue\nroses are thorny"


def block(label: str = "human", value: str = POEM, *, limit: int = 1000, read_only: bool = False) -> Block:
    return Block(id=f"block-{label}", label=label, value=value, limit=limit, read_only=read_only)


def call(name: str, *blocks: Block, **args: Json) -> EditResult:
    return apply(name, args, blocks or (block(),))


def said(result: EditResult) -> str:
    assert result.message is not None
    return result.message
