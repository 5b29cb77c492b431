"""The values of memory search: indexed documents, queries, and ranked hits. Knows no engine."""

from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import Frozen, Moment

Kind = Literal["passage", "message", "file"]
"""The kinds of documents: an entry of archival memory, a row of a log, a piece of a file."""
SearchMode = Literal["hybrid", "vector", "fts"]
TagMatch = Literal["any", "all"]


class IndexDocument(Frozen):
    """A document of an index. The table is authoritative; search results are looked up there.

    `place` is the scope of the document: the archive of a passage, the agent of a message, the folder of a file's piece.
    `conversation` is "" in an agent's default conversation. `vector` None: not embedded (yet). `before` is the id of the document
    that precedes this one in its log, archive or file ("": none, or not known). `version` increases with every write of the
    document.
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
    before: str = ""
    version: int = 1


class Tombstone(Frozen):
    """The mark of a deleted document: the index accepts no lower version of it."""

    id: str
    tenant: str
    version: int


class Stretch(Frozen):
    """The documents of one conversation (None: of any) with after < id <= `upto`; a bound of None is open."""

    conversation: str | None = None
    after: str | None = None
    upto: str | None = None

    def holds(self, document: IndexDocument) -> bool:
        """Whether the document lies in this stretch."""
        return (
            (self.conversation is None or document.conversation == self.conversation)
            and (self.after is None or document.id > self.after)
            and (self.upto is None or document.id <= self.upto)
        )


class Reach(Frozen):
    """The documents in one of these stretches or with one of these ids. Ids are compared by code points."""

    stretches: tuple[Stretch, ...] = ()
    ids: tuple[str, ...] = ()

    def holds(self, document: IndexDocument) -> bool:
        """Whether the document lies in a stretch, or has one of the ids."""
        return any(one.holds(document) for one in self.stretches) or document.id in self.ids


class WordCounts(Frozen):
    """The frequencies of a query's terms (`domain.search.words.terms`) in a set of texts: the number of texts, and for each
    term the number of texts that contain it.
    """

    texts: int = 0
    holding: dict[str, int] = Field(default_factory=dict)


class IndexQuery(Frozen):
    """A query. The engine applies all filters before any limit.

    `places` None means everywhere in the tenant; an empty tuple matches nothing. With `text` None or `vector` None, that list of
    hits is empty. `start` and `end` are inclusive. `limit` applies to each list of hits. `unindexed` counts texts that the index
    does not contain; they enter the rarity of terms, so that scores of both are comparable.
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
    unindexed: WordCounts = Field(default_factory=WordCounts)


class IndexHit(Frozen):
    """A hit. `score`: by words BM25 (`domain.search.bm25`), above 0; by vectors (1 + cosine) / 2, from 0 to 1. `embedded`: the
    document has a vector; `before`: as it was written (`IndexDocument`), whether that document still exists or not.
    """

    id: str
    score: float
    embedded: bool = True
    before: str = ""


class IndexFound(Frozen):
    """Both lists of hits, best first; `domain.search.fusion` fuses them. `counts` says how the query's terms are spread over the
    tenant's documents of this space. It is empty if the query has no text.
    """

    lexical: tuple[IndexHit, ...] = ()
    vector: tuple[IndexHit, ...] = ()
    counts: WordCounts = Field(default_factory=WordCounts)


class IndexedState(Frozen):
    """The state of one document in an index, for comparing the index with the table."""

    id: str
    version: int
    embedded: bool
