"""No tenant's documents move the scores or the ranks of another's, whatever is written, replaced and removed in between."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.schemas.memory.search_index import IndexDocument
from tests.contracts.memory_index.documents import EAST, NORTH, SPACE, document, query, tombstone

WORDS = st.sampled_from(["tea", "harbour", "boat", "rare", "green", "東京"])
TEXTS = st.lists(WORDS, min_size=1, max_size=20).map(" ".join)
NAMES = st.sampled_from([f"d{number}" for number in range(6)])


@st.composite
def documents(draw: st.DrawFn, tenant: str) -> list[IndexDocument]:
    names = draw(st.lists(NAMES, max_size=8))
    return [
        document(name, draw(TEXTS), draw(st.sampled_from([None, EAST, NORTH])), tenant=tenant, version=version)
        for version, name in enumerate(names, 1)
    ]


@settings(max_examples=60, deadline=None)
@given(documents("home"), documents("other"), st.lists(NAMES, max_size=4), TEXTS)
def test_what_a_tenant_finds_is_the_same_whatever_others_have(
    own: list[IndexDocument], others: list[IndexDocument], gone: list[str], asked: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        alone, shared = (SqliteMemoryIndex(Path(folder) / name) for name in ("alone.db", "shared.db"))
        shared.put(SPACE, others)
        for place, one in enumerate(own):
            alone.put(SPACE, [one])
            shared.put(SPACE, [*others[place : place + 1], one])
        shared.remove(SPACE, [tombstone(name, version=99, tenant="other") for name in gone])
        for wanted in (query(asked, EAST), query(asked, places=None)):
            assert shared.search(SPACE, wanted) == alone.search(SPACE, wanted)
        alone.close()
        shared.close()
