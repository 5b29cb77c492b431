"""What the index does not know yet: a pointer for every transaction that changed something searchable (architecture 7).

It is written with what it names, so that none is forgotten. The indexer takes it away when the index knows; until then a search looks
at what it names, in the table. Deleted things leave a pointer too, for the index to forget them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from hibernaut.ports.table import ABSENT, Change, Delete, Index, Item, Key, Put, Update, Value, eq
from hibernaut.schemas.message import Message
from hibernaut.schemas.search import Kind
from hibernaut.store import keys
from hibernaut.store.tenant_table import TenantTable

NOUN = "TAIL"
EMBEDDED_TOGETHER = 16
"""Pieces of a file that one pointer has embedded: about a second's work at home."""
SEARCHED_ROLES = ("user", "assistant", "tool")
"""The rows of a log that recall finds."""


State = Literal["NEW", "EMBED", "AGAIN", "GONE"]
"""The index does not know it; it knows its words and waits for vectors; it knows its words, and who makes the vectors refuses to; it must
forget it."""
Stage = Literal["POINTS", "WAITS", "OVER"]


@dataclass(frozen=True, slots=True)
class Pointer:
    """`ids` are the things it names, in one place: an archive, a folder, an agent. `within` is the log or the file that they lie in.

    `build`: the building of the index that wrote it, 0 for what was written with the things themselves, which has keys of its own. A
    later building may write the same key again, for an index that knows nothing: whoever has read this one takes only this one away.
    """

    key: Key
    place: str
    kind: Kind
    ids: tuple[str, ...]
    within: str
    state: State
    build: int = 0


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """The newest building of the index of a tenant: how manyth it is, and how far it has come. Once "WAITS", everything was pointed to
    and the index takes it in."""

    number: int = 0
    stage: Stage = "OVER"


class OutboxSignal:
    """Hands the pointers of all tenants to whoever follows them. `told` is called with the pointers that this process has written, once
    they stand in the table."""

    def __init__(self) -> None:
        self.told: Callable[[Sequence[Pointer]], None] = _nobody

    def written(self, changes: Sequence[Change]) -> None:
        """What has been written: whoever follows the pointers is told those that are among it."""
        if self.told is _nobody:
            return
        pointers = [_read(each.item) for each in changes if isinstance(each, Put) and keys.is_unindexed(each.key)]
        if pointers:
            self.told(pointers)


class SearchOutbox:
    """The pointers of one tenant. `kept` False: there is no index here, and nobody would take the pointers away."""

    def __init__(self, table: TenantTable, *, kept: bool = True) -> None:
        self._table = table
        self._tenant = table.tenant
        self._kept = kept

    def rows(self, agent_id: str, log: str, rows: Sequence[Message]) -> list[Put]:
        """The change that goes with new rows of a log; none where recall would not find any of them."""
        ids = [row.id for row in rows if row.role in SEARCHED_ROLES]
        return self.pointer(agent_id, "message", ids, within=log)

    def pointer(self, place: str, kind: Kind, ids: Sequence[str], *, within: str = "", gone: bool = False) -> list[Put]:
        """The change that goes with new or deleted things of one place."""
        if not ids or not self._kept:
            return []
        state: State = "GONE" if gone else "NEW"
        return [_put(self._tenant, place, state, kind, ids, within or place)]

    def again(self, place: str, kind: Kind, ids: Sequence[str], *, within: str, build: int) -> list[Put]:
        """The change that points to things which the index knew before it was emptied."""
        return [_put(self._tenant, place, "NEW", kind, ids, within, build)] if ids and self._kept else []

    def worded(self, pointer: Pointer) -> list[Change]:
        """The index knows the words of what the pointer names: what is left to do is to embed, some at a time, so that what is new
        does not wait long behind them. Fails where it was written anew."""
        return self._later(pointer, "EMBED")

    def refused(self, pointer: Pointer) -> list[Change]:
        """The index knows the words, and nobody waits for the vectors: they are asked for again now and then."""
        return self._later(pointer, "AGAIN")

    def _later(self, pointer: Pointer, state: State) -> list[Change]:
        parts = [pointer.ids[start : start + EMBEDDED_TOGETHER] for start in range(0, len(pointer.ids), EMBEDDED_TOGETHER)]
        later = [_put(self._tenant, pointer.place, state, pointer.kind, ids, pointer.within, pointer.build) for ids in parts]
        return [self.forget(pointer), *later]

    def of(self, place: str, limit: int) -> list[Pointer]:
        """The newest pointers of a place that name something new."""
        pk = keys.unindexed(self._tenant, place, "NEW", "").pk
        return [_read(item) for item in self._table.query(pk, prefix="NEW#", limit=limit, descending=True)]

    def everywhere(self, limit: int) -> list[Pointer]:
        """Pointers of a tenant as far as the index LISTS has come: the newest new ones first, then what is gone, then what waits for
        vectors, at last what was refused."""
        return self._everywhere(limit, "")

    def to_ask_again(self, limit: int) -> list[Pointer]:
        """The newest pointers to what was refused."""
        return self._everywhere(limit, "AGAIN#")

    def new(self, kind: Kind, limit: int) -> list[Pointer]:
        """The newest pointers of a tenant that name something new, as far as the index LISTS has come: of messages, or of passages and
        pieces of files."""
        return self._everywhere(limit, f"NEW#{'message' if kind == 'message' else 'passage'}-")

    def _everywhere(self, limit: int, prefix: str) -> list[Pointer]:
        found: list[Key] = []
        for shard in keys.shards():
            pk = keys.list_partition(self._tenant, NOUN, shard)
            page = self._table.query(pk, index=Index.LISTS, prefix=prefix, limit=limit, descending=True)
            found += [Key(str(item["pk"]), str(item["sk"])) for item in page]
        newest = sorted(found, key=lambda key: key.sk, reverse=True)[:limit]
        items = self._table.get_many(newest)
        return [_read(items[key]) for key in newest if key in items]

    def standing(self, wanted: Sequence[Key]) -> list[Pointer]:
        """The pointers that there are among these, in the order asked for."""
        items = self._table.get_many(wanted)
        return [_read(items[key]) for key in dict.fromkeys(wanted) if key in items]

    def waiting(self) -> int:
        """How many pointers there are, as far as the index LISTS has come, but for those to what was refused."""
        shards = [keys.list_partition(self._tenant, NOUN, shard) for shard in keys.shards()]
        found = [item for pk in shards for item in self._table.query(pk, index=Index.LISTS)]
        return sum(not str(item["sk"]).startswith("AGAIN#") for item in found)

    def forget(self, pointer: Pointer) -> Delete:
        """The change that says the index knows. Fails where the pointer is gone, or was written anew."""
        return Delete(pointer.key, eq(build=pointer.build))

    def building(self) -> IndexBuild:
        item = self._table.get(keys.reindexing(self._tenant)) if self._kept else None
        stage: Stage = str(item["stage"]) if item else "OVER"  # type: ignore[assignment]
        return IndexBuild(int(item["number"]) if item else 0, stage)

    def rebuild(self, before: IndexBuild, after: IndexBuild) -> Change:
        """The change from one to the other. Fails where somebody else has made one."""
        when = eq(number=before.number, stage=before.stage) if before.number else ABSENT
        return Update(keys.reindexing(self._tenant), set={"number": after.number, "stage": after.stage}, when=when)


def _nobody(pointers: Sequence[Pointer]) -> None:
    del pointers


def _put(tenant: str, place: str, state: State, kind: Kind, ids: Sequence[str], within: str, build: int = 0) -> Put:
    key = keys.unindexed(tenant, place, state, ids[0], anew=build > 0)
    item: dict[str, Value] = {"pk": key.pk, "sk": key.sk, "kind": kind, "ids": " ".join(ids), "within": within, "build": build}
    return Put({**item, **keys.listed(tenant, NOUN, key.sk)})


def _read(item: Item) -> Pointer:
    key = Key(str(item["pk"]), str(item["sk"]))
    kind: Kind = str(item["kind"])  # type: ignore[assignment]
    state: State = key.sk.partition("#")[0]  # type: ignore[assignment]
    return Pointer(
        key=key,
        place=keys.last_part(key.pk),
        kind=kind,
        ids=tuple(str(item["ids"]).split()),
        within=str(item["within"]),
        state=state,
        build=int(item["build"]),
    )
