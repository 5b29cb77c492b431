"""The outbox of the search index: a pointer for every transaction that changed something searchable.

A transaction writes its pointer together with the records that the pointer names, so no change is lost. The indexer removes the
pointer when the index has the records. Until then a search reads the named records from the table. A deletion writes a pointer
too, so that the indexer removes the records from the index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from hibernaut.ports.storage.table import ABSENT, Change, Delete, Index, Item, Key, Put, Query, Update, Value, eq
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.search_index import Kind
from hibernaut.store.table import keys
from hibernaut.store.table.tenant_table import TenantTable

NOUN = "TAIL"
EMBEDDED_TOGETHER = 16
"""The largest number of records that a pointer in the state EMBED or AGAIN names: about a second of embedding on a laptop."""
SEARCHED_ROLES = ("user", "assistant", "tool")
"""The roles of the log rows that recall finds."""


State = Literal["NEW", "EMBED", "AGAIN", "GONE"]
"""The state of the records that a pointer names.

NEW    not in the index
EMBED  in the index by their words; embedding is pending
AGAIN  in the index by their words; embedding failed, the indexer retries later
GONE   deleted from the table; still in the index
"""
NextState = Literal["OVER", "AGAIN"]
"""The next state of a pointer whose records a search finds: it is removed, or it changes to AGAIN."""
NO_COPY = "-"
"""In place of the name of a copy, for a record that has none."""
Stage = Literal["POINTS", "WAITS", "OVER"]


@immutable
class Pointer:
    """An entry of the outbox.

    place   an archive, a folder, or an agent
    ids     the ids of the named records, all in `place`
    within  the log or the file that holds the records
    build   number of the index build that wrote the pointer; 0: written together with the records. The two kinds have different
            keys.
            A later build may write the same key again for its empty index, so `forget` has a condition on the build.

    The other fields concern an index that shows writes late (`services.search.late_visibility`).

    written    when the records were written to the index, in milliseconds since 1970; 0: not yet
    following  the next state of the pointer when a search finds them
    space      the space of the copies
    copies     the names of the records' copies, in the order of `ids`
    replaced   the names of older copies, which are discarded when a search finds the new ones
    """

    key: Key
    place: str
    kind: Kind
    ids: tuple[str, ...]
    within: str
    state: State
    build: int = 0
    written: int = 0
    following: NextState = "OVER"
    space: str = ""
    copies: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


@immutable
class IndexBuild:
    """The newest build of a tenant's index: its ordinal number (0: none yet) and its stage.

    POINTS: pointers to the existing records are being written. WAITS: all are written, and the indexer works them off. OVER:
    complete.
    """

    number: int = 0
    stage: Stage = "OVER"


class SearchedRow(Protocol):
    """A row of a log, in whichever form."""

    @property
    def id(self) -> str: ...

    @property
    def role(self) -> str: ...


class OutboxSignal:
    """Passes the pointers that this process has written, of all tenants, to one `listener`, after each successful write."""

    def __init__(self) -> None:
        self.listener: Callable[[Sequence[Pointer]], None] = _nobody

    def written(self, changes: Sequence[Change]) -> None:
        """Pass the pointers among the written changes to the listener."""
        if self.listener is _nobody:
            return
        pointers = [_read(each.item) for each in changes if isinstance(each, Put) and keys.is_unindexed(each.key)]
        if pointers:
            self.listener(pointers)


class SearchOutbox:
    """The outbox of one tenant. Reads raise StoreUnavailable (`store.table.retries`). `enabled` False: the deployment has no
    index, so no pointers are written.
    """

    def __init__(self, table: TenantTable, *, enabled: bool = True) -> None:
        self._table = table
        self._tenant = table.tenant
        self._enabled = enabled

    def rows(self, agent_id: str, log: str, rows: Sequence[SearchedRow]) -> list[Put]:
        """The pointer to new rows of a log; an empty list if no row has a role that recall finds."""
        ids = [row.id for row in rows if row.role in SEARCHED_ROLES]
        return self.pointer(agent_id, "message", ids, within=log)

    def pointer(self, place: str, kind: Kind, ids: Sequence[str], *, within: str = "", gone: bool = False) -> list[Put]:
        """The pointer to new (or, with `gone`, deleted) records of one place, for the transaction that writes (or deletes)
        them.
        """
        if not ids or not self._enabled:
            return []
        state: State = "GONE" if gone else "NEW"
        return [_put(self._tenant, place, state, kind, ids, within or place)]

    def again(self, place: str, kind: Kind, ids: Sequence[str], *, within: str, build: int) -> list[Put]:
        """The pointer to existing records that an index build adds to the emptied index."""
        return [_put(self._tenant, place, "NEW", kind, ids, within, build)] if ids and self._enabled else []

    def worded(self, pointer: Pointer) -> list[Change]:
        """The changes to the state EMBED, in pointers of EMBEDDED_TOGETHER records, so that new records need not wait long.

        The transaction fails if the pointer was rewritten or removed.
        """
        return self._later(pointer, "EMBED")

    def refused(self, pointer: Pointer) -> list[Change]:
        """The changes to the state AGAIN, after embedding failed. The indexer retries later. The transaction fails as in
        `worded`.
        """
        return self._later(pointer, "AGAIN")

    def written(self, pointer: Pointer, at: int, *, space: str, copies: Sequence[str], following: NextState) -> Update:
        """The change that marks a pointer whose records were written at `at`. Condition: the pointer exists and belongs to the
        same build.
        """
        replaced = pointer.copies if pointer.space == space else ()
        marks: dict[str, Value] = {"written": at, "following": following, "space": space}
        names: dict[str, Value] = {"copies": " ".join(copies), "replaced": " ".join(replaced)}
        return Update(pointer.key, set=marks | names, when=eq(build=pointer.build))

    def settled(self, pointer: Pointer) -> list[Change]:
        """The changes to the next state of a pointer whose records a search finds. The transaction fails as in `worded`."""
        return self._later(pointer, "AGAIN") if pointer.following == "AGAIN" else [self.forget(pointer)]

    def _later(self, pointer: Pointer, state: State) -> list[Change]:
        """Pointers with a few records each, each with their copies."""
        later: list[Change] = []
        for start in range(0, len(pointer.ids), EMBEDDED_TOGETHER):
            part = slice(start, start + EMBEDDED_TOGETHER)
            put = _put(self._tenant, pointer.place, state, pointer.kind, pointer.ids[part], pointer.within, pointer.build)
            copy_fields = {"space": pointer.space, "copies": " ".join(pointer.copies[part])} if pointer.copies else {}
            later.append(Put({**put.item, **copy_fields}))
        return [self.forget(pointer), *later]

    def of(self, places: Sequence[str], limit: int) -> list[list[Pointer]]:
        """The newest pointers of each place in the state NEW, at most `limit` of a place."""
        each = [keys.unindexed(self._tenant, place, "NEW", "").pk for place in places]
        found = self._table.query_many([Query(pk, prefix="NEW#", limit=limit, descending=True) for pk in each])
        return [[_read(item) for item in items] for items in found]

    def everywhere(self, limit: int) -> list[Pointer]:
        """At most `limit` pointers of the tenant by state: NEW, GONE, EMBED, AGAIN; within a state the newest first.

        Reads the index LISTS, which may lag.
        """
        return self._everywhere(limit, "")

    def to_ask_again(self, limit: int) -> list[Pointer]:
        """The newest pointers in the state AGAIN, at most `limit`."""
        return self._everywhere(limit, "AGAIN#")

    def new(self, kind: Kind, limit: int) -> list[Pointer]:
        """The newest pointers in the state NEW to messages, or to passages and pieces of files. Reads the index LISTS, which may
        lag.
        """
        return self._everywhere(limit, f"NEW#{'message' if kind == 'message' else 'passage'}-")

    def _everywhere(self, limit: int, prefix: str) -> list[Pointer]:
        pages = self._table.query_many(
            [Query(pk, index=Index.LISTS, prefix=prefix, limit=limit, descending=True) for pk in self._shards()]
        )
        found = [Key(str(item["pk"]), str(item["sk"])) for page in pages for item in page]
        newest = sorted(found, key=lambda key: key.sk, reverse=True)[:limit]
        items = self._table.get_many(newest)
        return [_read(items[key]) for key in newest if key in items]

    def standing(self, pointer_keys: Sequence[Key]) -> list[Pointer]:
        """The existing pointers among the keys `pointer_keys`, in their order."""
        items = self._table.get_many(pointer_keys)
        return [_read(items[key]) for key in dict.fromkeys(pointer_keys) if key in items]

    def waiting(self) -> int:
        """The number of pointers in other states than AGAIN. Reads the index LISTS, which may lag."""
        found = self._table.query_many([Query(pk, index=Index.LISTS) for pk in self._shards()])
        return sum(not str(item["sk"]).startswith("AGAIN#") for items in found for item in items)

    def _shards(self) -> list[str]:
        return keys.list_partitions(self._tenant, NOUN)

    def forget(self, pointer: Pointer) -> Delete:
        """The change that removes a pointer. Condition: the pointer exists and belongs to the same build."""
        return Delete(pointer.key, eq(build=pointer.build))

    def doubles_collected(self) -> int:
        """When the doubles of the tenant's index were collected last, in milliseconds since 1970; 0: never."""
        item = self._table.get(keys.doubles_collected(self._tenant))
        return int(item["at"]) if item else 0

    def collected_doubles(self, at: int) -> Put:
        """The change that records when they were collected."""
        key = keys.doubles_collected(self._tenant)
        return Put({"pk": key.pk, "sk": key.sk, "at": at})

    def building(self) -> IndexBuild:
        """The newest build of the tenant's index."""
        item = self._table.get(keys.reindexing(self._tenant)) if self._enabled else None
        stage: Stage = str(item["stage"]) if item else "OVER"  # type: ignore[assignment]
        return IndexBuild(int(item["number"]) if item else 0, stage)

    def rebuild(self, before: IndexBuild, after: IndexBuild) -> Change:
        """The change from one build state to the next. Condition: the state is still `before`."""
        condition = eq(number=before.number, stage=before.stage) if before.number else ABSENT
        return Update(keys.reindexing(self._tenant), set={"number": after.number, "stage": after.stage}, when=condition)


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
        written=int(item.get("written", 0)),
        following="AGAIN" if item.get("following") == "AGAIN" else "OVER",
        space=str(item.get("space", "")),
        copies=tuple(str(item.get("copies", "")).split()),
        replaced=tuple(str(item.get("replaced", "")).split()),
    )
