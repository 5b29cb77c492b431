"""Documents and queries with everything that a test does not care about filled in, and a corpus with clear answers."""

from __future__ import annotations

import hashlib
import math
import random
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.schemas.memory.search_index import IndexDocument, IndexQuery, Tombstone

SPACE = "mini-4"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EAST, NORTH, UP = (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)


def document(name: str, text: str = "a fact", vector: tuple[float, ...] | None = None, **other: Any) -> IndexDocument:
    given = {"kind": "passage", "tenant": "home", "place": "archive", "created_at": NOON, **other}
    return IndexDocument(id=name, text=text, vector=vector, **given)


def query(text: str | None = None, vector: tuple[float, ...] | None = None, **other: Any) -> IndexQuery:
    given = {"kind": "passage", "tenant": "home", "places": ("archive",), **other}
    return IndexQuery(text=text, vector=vector, **given)


def tombstone(name: str, version: int = 1, tenant: str = "home") -> Tombstone:
    return Tombstone(id=name, tenant=tenant, version=version)


def by_words(index: MemoryIndex, text: str, **other: Any) -> list[str]:
    return [hit.id for hit in index.search(SPACE, query(text, **other)).lexical]


def by_vector(index: MemoryIndex, vector: tuple[float, ...], **other: Any) -> list[str]:
    return [hit.id for hit in index.search(SPACE, query(vector=vector, **other)).vector]


def both(index: MemoryIndex, **other: Any) -> tuple[set[str], set[str]]:
    """What is found of documents that all say "fact" and all look east, by words and by vectors."""
    found = index.search(SPACE, query("fact", EAST, **other))
    return {hit.id for hit in found.lexical}, {hit.id for hit in found.vector}


def held(index: MemoryIndex, tenant: str = "home", space: str = SPACE) -> list[tuple[str, int, bool]]:
    return [(state.id, state.version, state.embedded) for state in index.states(space, tenant)]


def meaning(text: str, dimension: int = 64) -> tuple[float, ...]:
    """A direction made of the beginnings of words: texts that share more of them are nearer. By hashing, the same everywhere."""
    total = [0.0] * dimension
    for word in re.findall(r"\w{3,}", text.lower()):
        seed = int.from_bytes(hashlib.sha256(word[:5].encode()).digest()[:8], "big")
        numbers = random.Random(seed)
        for place in range(dimension):
            total[place] += numbers.gauss(0, 1)
    length = math.sqrt(sum(number * number for number in total))
    return tuple(number / length for number in total)


_PEOPLE = ("Ana", "Bruno", "Chidi", "Dunja", "Emre", "Freya")
_FACTS = (
    "{name} keeps a tortoise called Turbo in the garden",
    "{name} is allergic to walnuts and carries an injector",
    "{name} plays the cello in the orchestra on Thursdays",
    "{name} moved to Lisbon because of the ocean",
    "{name} studies volcanoes and visited Iceland twice",
    "{name} repairs old typewriters in the cellar",
    "{name} bakes rye bread with caraway every Sunday",
    "{name} swims in the cold lake before breakfast",
    "{name} restores a wooden sailing boat with a neighbour",
    "{name} writes poems about trains and railway stations",
)


def corpus() -> list[IndexDocument]:
    """Sixty facts, ten about each of six people."""
    found = []
    for who, name in enumerate(_PEOPLE):
        for what, fact in enumerate(_FACTS):
            text = fact.format(name=name)
            at = NOON + timedelta(minutes=len(found))
            found.append(document(f"fact-{who}-{what}", text, meaning(text), created_at=at))
    return found
