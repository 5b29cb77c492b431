"""What memory search speaks in: documents of an index, queries, and ranked hits. Knows no engine."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import Frozen, Moment

Kind = Literal["passage", "message", "file"]
"""A piece of archival memory, a row of a log, a piece of a file."""
SearchMode = Literal["hybrid", "vector", "fts"]
TagMatch = Literal["any", "all"]


class IndexDocument(Frozen):
    """One piece of memory as an index holds it. The table is the truth; what an index gives back is looked up there.

    `place` is where it is searched in: the archive of a passage, the agent of a message, the folder of a file's piece. `conversation`
    is "" in an agent's own conversation. `vector` None: not embedded (yet). `version` grows with every writing of the document.
    """

    id: str
    kind: Kind
    tenant: str
    place: str
    conversation: str = ""
    file_id: str = ""
    role: str = ""
    tags: tuple[str, ...] = ()
    created_at: Moment
    text: str
    vector: tuple[float, ...] | None = None
    version: int = 1


class Tombstone(Frozen):
    """A document that is gone: nothing of a lower version may come back."""

    id: str
    tenant: str
    version: int


class Stretch(Frozen):
    """The documents of one conversation (None: of any) with after < id <= `upto`; where a bound is None, all of them on that side."""

    conversation: str | None = None
    after: str | None = None
    upto: str | None = None

    def holds(self, document: IndexDocument) -> bool:
        return (
            (self.conversation is None or document.conversation == self.conversation)
            and (self.after is None or document.id > self.after)
            and (self.upto is None or document.id <= self.upto)
        )


class Reach(Frozen):
    """The documents that lie in one of these stretches or bear one of these ids. Ids are compared by their code points."""

    stretches: tuple[Stretch, ...] = ()
    ids: tuple[str, ...] = ()

    def holds(self, document: IndexDocument) -> bool:
        return any(one.holds(document) for one in self.stretches) or document.id in self.ids


class WordCounts(Frozen):
    """How the terms of a query (`domain.search.words.terms`) are spread over some texts: how many texts there are, and how many hold each term."""

    texts: int = 0
    holding: dict[str, int] = Field(default_factory=dict)


class IndexQuery(Frozen):
    """What is looked for, and where. Filters hold inside the engine, before any cut: all that are given.

    `places` may not be empty but by intention: None means everywhere in the tenant. `text` None or `vector` None leaves that list of
    hits empty. `start` and `end` are inclusive. `limit` counts the hits of each list. `beside` counts texts that the index does not
    have: they count with its own where the rarity of a term is taken, so that scores of both can be compared.
    """

    tenant: str
    kind: Kind
    places: tuple[str, ...] | None = None
    reach: Reach | None = None
    file_ids: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tag_match: TagMatch = "any"
    start: Moment | None = None
    end: Moment | None = None
    text: str | None = None
    vector: tuple[float, ...] | None = None
    limit: int = Field(default=50, ge=1, le=1000)
    beside: WordCounts = WordCounts()


class IndexHit(Frozen):
    """A document that was found. `score`: by words BM25 (`domain.search.bm25`), above 0; by vectors (1 + cosine) / 2, 0 to 1. `embedded`: it
    has a vector."""

    id: str
    score: float
    embedded: bool = True


class IndexFound(Frozen):
    """Both lists, best first; they are fused in `domain.search.fusion`. `counts`: of the tenant's documents in this space; `mean_length`: the
    number of terms against which BM25 weighs the length of a text. Both are empty where the query has no text."""

    lexical: tuple[IndexHit, ...] = ()
    vector: tuple[IndexHit, ...] = ()
    counts: WordCounts = WordCounts()
    mean_length: float = 0.0


class IndexedState(Frozen):
    """What an index holds of one document, for comparing it with the table."""

    id: str
    version: int
    embedded: bool
