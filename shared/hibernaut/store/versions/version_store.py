"""Versions in the table: one item for each change, written in the transaction that makes it.

A version holds the state before the change; the state after it is in the next version, or in the record itself. So the newest
value is stored once, and a record that is older than the recording of versions has a first version with its value. A version
expires `retention` after its change: a value is readable for that long after it was replaced.

The record's item names its newest version and that version's hash (attribute `chain`). A change has a condition on the record's
own version, which covers the chain, so no further item is read or contended. A large record before a change is a blob under
`records/`, which the collector deletes when the version has expired: the lifecycle of ephemeral blobs is shorter than the
retention.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import BaseModel

from hibernaut.domain.memory import versions
from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import Item, Put, Query, Value
from hibernaut.schemas.base import JsonObject, wire_time
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.version import SERVER, Author, ChangeKind, PriorRecord, StoredVersion
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, expired, json_of
from hibernaut.store.table.tenant_table import TenantTable
from hibernaut.store.versions import version_keys
from hibernaut.store.versions.version_keys import VersionPlace

RETENTION = timedelta(days=90)
"""The default time for which a version is retained: a quarter, so that last month's and last quarter's questions can be
answered.
"""
PRIVATE = frozenset({"secrets", "last_run_completion", "last_run_duration_ms", "last_stop_reason"})
"""Fields that no version holds: values of secrets, and what another item stores."""
CHAIN = "chain"
"""The attribute of a record's item that names its newest version: `number#hash#time#ttl`."""
_NAMES = ("meta", "ttl", "v")


@immutable
class Edit:
    """The author and the kind of a change. `restored`: the version that a rollback brings back. `at`: when (None: now)."""

    by: Author = SERVER
    change: ChangeKind = "updated"
    restored: int | None = None
    at: datetime | None = None


UNKNOWN = Edit()


@immutable
class RecordState:
    """A record as versions see it: its number, its chain ("" if it has no version yet), and its JSON (None: it is deleted)."""

    number: int
    chain: str
    content: JsonObject | None


@immutable
class ChainHead:
    """The newest version that a record names: its number, its hash, its time, and when it expires in seconds since 1970. 0, ""
    and None: there is none.
    """

    number: int = 0
    hash: str = ""
    at: datetime | None = None
    ttl: int = 0


class VersionPair(NamedTuple):
    """A version (None: not retained), the record before it, and the record after it, from the next version (each None if unknown,
    and without the fields that `domain.memory.versions.KNOWN` names).
    """

    stored: StoredVersion | None
    before: JsonObject | None
    after: JsonObject | None


def content_of(record: BaseModel) -> JsonObject:
    """The JSON of a record without its secrets."""
    content: JsonObject = json.loads(json_of(record))
    return {name: value for name, value in content.items() if name not in PRIVATE}


def chain_of(stored: StoredVersion, ttl: int) -> str:
    """The text by which a record names its newest version."""
    return f"{stored.version}#{stored.hash}#{wire_time(stored.at)}#{ttl}"


def read_chain(chain: str) -> ChainHead:
    """The head that a record's chain names."""
    if not chain:
        return ChainHead()
    number, found, at, ttl = chain.split("#")
    return ChainHead(int(number), found, datetime.fromisoformat(at), int(ttl))


def _stored(items: Sequence[Item]) -> StoredVersion | None:
    return StoredVersion.model_validate_json(str(items[0]["meta"])) if items else None


def signed(version: Put, token: str) -> Put:
    """The change with the token of its writer, where the record's own item cannot hold it because it is deleted."""
    return replace(version, item={**version.item, "wt": token})


class VersionStore:
    """Versions of blocks, agents and passages. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot
    be read.
    """

    def __init__(self, table: TenantTable, codec: Codec, clock: Clock, retention: timedelta) -> None:
        self._table = table
        self._codec = codec
        self._clock = clock
        self._retention = retention

    def put(self, place: VersionPlace, before: RecordState | None, after: JsonObject | None, edit: Edit) -> tuple[Put, str]:
        """The change that writes a version, and the record's new chain. `before` None: the record is created; `after` None: it is
        deleted. A clock that was set back does not bring a version before the one before it.
        """
        stored = self.following(place, before, after, edit)
        ttl = int((stored.at + self._retention).timestamp())
        return self._item(place, stored, before, ttl), chain_of(stored, ttl)

    def following(self, place: VersionPlace, before: RecordState | None, after: JsonObject | None, edit: Edit) -> StoredVersion:
        """The version that a change makes, without a change that writes it."""
        at = edit.at or self._clock.now()
        head = read_chain(before.chain) if before else ChainHead()
        stored = StoredVersion(
            version=before.number + 1 if before else 1,
            change="created" if before is None else "deleted" if after is None else edit.change,
            at=max(at, head.at) if head.at else at,
            by=edit.by,
            fields=versions.changed_fields(before.content, after) if before and before.content and after else [],
            restored=edit.restored,
            after=versions.digest(after) if after is not None else "",
            previous=head.hash,
        )
        stored.hash = versions.link_hash(place.subject, json.loads(json_of(stored)), before.content if before else None)
        return stored

    def _item(self, place: VersionPlace, stored: StoredVersion, before: RecordState | None, ttl: int) -> Put:
        key = place.key(stored.version)
        item: dict[str, Value] = {"pk": key.pk, "sk": key.sk, "meta": json_of(stored), "ttl": ttl}
        if before is not None and before.content is not None:
            content = {name: value for name, value in before.content.items() if name not in versions.KNOWN}
            item |= self._codec.body(key, PriorRecord(content=content))
        return Put(item)

    def page(
        self, place: VersionPlace, *, after: int | None = None, before: int | None = None, limit: int, descending: bool = True
    ) -> list[StoredVersion]:
        """The versions with after < number < before."""
        return [
            StoredVersion.model_validate_json(str(item["meta"]))
            for item in self._items(place, after, before, limit, descending, _NAMES)
        ]

    def erased(self, subject: str) -> tuple[str, int, str] | None:
        """The erasure of a person by which a record went with its versions, and the number and the hash of its newest one; None:
        it was not erased.
        """
        item = self._table.get(version_keys.erased(self._table.tenant, subject))
        return (str(item["erasure"]), int(item["version"]), str(item["hash"])) if item else None

    def is_expired(self, head: ChainHead) -> bool:
        """Whether the newest version of a record is no longer retained."""
        return head.ttl <= self._clock.now().timestamp()

    def newest(self, place: VersionPlace) -> StoredVersion | None:
        """The newest version; None if none is retained."""
        return next(iter(self.page(place, limit=1)), None)

    def oldest(self, place: VersionPlace) -> StoredVersion | None:
        """The oldest retained version."""
        return next(iter(self.page(place, limit=1, descending=False)), None)

    def _items(
        self, place: VersionPlace, after: int | None, before: int | None, limit: int, descending: bool, names: Sequence[str]
    ) -> list[Item]:
        found: list[Item] = []
        lower = None if after is None else place.key(after).sk
        upper = None if before is None else place.key(before).sk
        while len(found) < limit:
            limit_now = limit - len(found)
            items = self._table.query(
                place.pk, prefix=place.prefix, after=lower, before=upper, limit=limit_now, descending=descending, names=names
            )
            found += [item for item in items if not expired(item, self._clock.now())]
            if len(items) < limit_now:
                break
            if descending:
                upper = str(items[-1]["sk"])
            else:
                lower = str(items[-1]["sk"])
        return found

    def items(self, place: VersionPlace, limit: int) -> list[Item]:
        """The items of the newest versions, newest first."""
        return self._items(place, None, None, limit, True, ())

    def links(self, place: VersionPlace, *, after: int = 0, limit: int) -> list[versions.ChainLink]:
        """The next versions in ascending order, with the records before them, for an audit."""
        items = self._items(place, after, None, limit, False, ())
        return [self.link(item) for item in items]

    def link(self, item: Item) -> versions.ChainLink:
        """A version as an audit reads it."""
        return versions.ChainLink(json.loads(str(item["meta"])), self._prior(item))

    def pair(self, place: VersionPlace, number: int) -> VersionPair:
        """One of `pairs`."""
        return self.pairs([(place, number)])[0]

    def pairs(self, wanted: Sequence[tuple[VersionPlace, int]]) -> list[VersionPair]:
        """These versions with the records before and after them, in their order, read together."""
        now = self._clock.now()
        places = {place.key(each) for place, number in wanted for each in (number, number + 1)}
        items = self._table.get_many(list(places)) if places else {}
        found = {key: item for key, item in items.items() if not expired(item, now)}
        return [self._pair(found.get(place.key(number)), found.get(place.key(number + 1))) for place, number in wanted]

    def _pair(self, item: Item | None, following: Item | None) -> VersionPair:
        stored = StoredVersion.model_validate_json(str(item["meta"])) if item is not None else None
        return VersionPair(stored, self._prior(item), self._prior(following))

    def edges(self, spans: Sequence[tuple[VersionPlace, int | None, int | None]]) -> list[StoredVersion | None]:
        """The oldest retained version with after < number < before of each of these spans, in their order, read together."""
        queries = [
            Query(
                place.pk,
                prefix=place.prefix,
                after=None if after is None else place.key(after).sk,
                before=None if before is None else place.key(before).sk,
                limit=1,
                names=_NAMES,
            )
            for place, after, before in spans
        ]
        now = self._clock.now()
        return [
            self._edge(span, items[0]) if items and expired(items[0], now) else _stored(items)
            for span, items in zip(spans, self._table.query_many(queries), strict=True)
        ]

    def _edge(self, span: tuple[VersionPlace, int | None, int | None], gone: Item) -> StoredVersion | None:
        """The oldest retained version of a span after an expired one, which the table has not deleted yet."""
        place, _, before = span
        after = int(keys.last_part(str(gone["sk"])))
        return next(iter(self.page(place, after=after, before=before, limit=1, descending=False)), None)

    def _prior(self, item: Item | None) -> JsonObject | None:
        return self._codec.record(PriorRecord, item).content if item is not None and "body" in item else None
