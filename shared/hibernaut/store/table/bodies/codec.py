"""Converts records to items and back. A record is one JSON attribute, `body`; a body that is too large for an item is in a blob.

Every blob has one owner, the item that names it. A blob key is used once: a blob that its owner no longer names is unreferenced
for good. The change that replaces or deletes a record names the freed blob in `frees`, and the writer deletes the blob after the
write. `store.blob_collector` deletes what a crash leaves behind.

An item has its keys, the few attributes that conditions and filters use, `v` (the version of its format,
`store.table.bodies.formats`), `ttl` if it expires, and `body`, or `blob` with the key of the blob that holds the body, or `pack`
with its place in a pack (`store.table.bodies.packs`). The record classes accept old versions; there are no migrations.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel

from hibernaut.ports.storage.blobs import Blobs
from hibernaut.ports.storage.table import Item, Key, Table, Value
from hibernaut.schemas.faults.record_faults import RecordLost
from hibernaut.schemas.stored import Stored
from hibernaut.store.table import blob_keys
from hibernaut.store.table.bodies.formats import WRITTEN
from hibernaut.store.table.bodies.packs import PACKED, PackCache, PackReader
from hibernaut.store.table.tenant_table import TenantBlobs, TenantTable

Record = TypeVar("Record", bound=BaseModel)
_Excluded = dict[Any, Any]
"""The `exclude` of pydantic: by names, or by places in a list."""
INLINE_BYTES = 64_000
"""The largest body in bytes that an item holds. A larger one is stored in a blob, so that a step stays below a transaction's
limit.
"""


class Codec:
    """Converts records to items and back."""

    def __init__(
        self, blobs: Blobs | TenantBlobs, table: Table | TenantTable | None = None, packs: PackReader | None = None
    ) -> None:
        """`table`: for the second read of an item whose blob was deleted during the first one. `packs`: None: a reader with a
        cache of its own.
        """
        self._blobs = blobs
        self._table = table
        self._packs = packs or PackReader(blobs, PackCache())

    def item(self, key: Key, record: BaseModel, inline: int = INLINE_BYTES, /, **attributes: Value) -> dict[str, Value]:
        """The whole item of a record. A large body is written to its blob first, so that no item names a missing blob. Raises:
        OSError.
        """
        return self.text_item(key, json_of(record), inline, **attributes)

    def text_item(self, key: Key, text: str, inline: int = INLINE_BYTES, /, **attributes: Value) -> dict[str, Value]:
        """As `item`, of a record whose JSON the caller has. `text`: as `json_of` writes it. Raises: OSError."""
        body = self._placed(key, text, inline, ephemeral="ttl" in attributes)
        return {"pk": key.pk, "sk": key.sk, **attributes, **body}

    def body(self, key: Key, record: BaseModel, inline: int = INLINE_BYTES, *, ephemeral: bool = False) -> dict[str, Value]:
        """The attributes of the body alone, for updates, with its version. Both places are set, so that no update leaves an old
        body behind.

        `inline`: the largest body in bytes that stays in the item, at most INLINE_BYTES; a transaction with many items sets less.
        `ephemeral`: the item has a time to live, so its blob gets the key prefix of blobs that expire. Raises: OSError.
        """
        return self._placed(key, json_of(record), inline, ephemeral=ephemeral)

    def _placed(self, key: Key, text: str, inline: int, *, ephemeral: bool) -> dict[str, Value]:
        most = min(inline, INLINE_BYTES)
        if len(text) <= most // 4 or len(text.encode()) <= most:
            return {"v": WRITTEN, "body": text, "blob": ""}
        blob = blob_keys.body_blob(key, secrets.token_hex(16), ephemeral=ephemeral)
        self._blobs.put(blob, text.encode())
        return {"v": WRITTEN, "body": "", "blob": blob}

    def record(self, kind: type[Record], item: Item) -> Record:
        """The record of an item. If the item was replaced before its blob was read: the record of the new item.

        Raises: KeyError if the item was deleted meanwhile; RecordLost, a KeyError too, if its blob is missing; OSError.
        """
        if inline := str(item["body"]):
            return kind.model_validate_json(inline)
        body, blob = self._outside(item)
        record = kind.model_validate_json(body)
        if isinstance(record, Stored):
            record.read_from(blob)
        return record

    def _outside(self, item: Item) -> tuple[bytes | str, str]:
        """A body that is not in the item, and the key of its blob ("": the item's replacement holds the body)."""
        blob = str(item["blob"])
        try:
            if not blob and PACKED in item:
                return self._packs.body(item), ""
            return self._blobs.get(blob), blob
        except KeyError:
            now = self._table.get(Key(str(item["pk"]), str(item["sk"]))) if self._table else None
            if now is None:
                raise
            if _outside_of(now) == _outside_of(item):
                raise RecordLost(_record_of(item)) from None
            return (str(now["body"]), "") if now["body"] else self._outside(now)


def _outside_of(item: Item) -> tuple[str, str]:
    """The blob and the place in a pack that an item names."""
    return str(item["blob"]), str(item.get(PACKED, ""))


def _record_of(item: Item) -> str:
    """The id of the record that an item holds: the end of its sort key, or of its partition's if its sort key is a noun."""
    pk, sk = str(item["pk"]), str(item["sk"])
    return (sk if "#" in sk else pk).rpartition("#")[2]


def json_of(record: BaseModel) -> str:
    """The JSON of a record without the members that are read the same if they are missing: null, false, 0 and empty ones that are
    the default. Such a default must never change.

    DynamoDB charges for each KB of an item; these members are about half of a run.
    """
    return record.model_dump_json(exclude=_unsaid(record))


@cache
def _members(kind: type[BaseModel]) -> tuple[tuple[str, object, object], ...]:
    """The names of a class's members, each with its default and the maker of its default."""
    return tuple((name, field.default, field.default_factory) for name, field in kind.model_fields.items())


def _unsaid(record: BaseModel) -> _Excluded:
    """The members to leave out, in the form of pydantic's `exclude`: by name, and for members that hold records their own."""
    found: _Excluded = {}
    values = record.__dict__
    for name, default, maker in _members(type(record)):
        value = values[name]
        if not value:
            if (value == default and type(value) is type(default)) or (maker in (list, dict) and type(value) is maker):
                found[name] = True
        elif isinstance(value, BaseModel):
            if maker is type(value) and value == type(value)():
                found[name] = True
            elif inner := _unsaid(value):
                found[name] = inner
        elif isinstance(value, list | tuple):
            if inner := {at: unsaid for at, one in enumerate(value) if (unsaid := _of_element(one))}:
                found[name] = inner
    return found


def _of_element(value: object) -> _Excluded:
    return _unsaid(value) if isinstance(value, BaseModel) else {}


def freed(key: Key, record: Stored) -> str:
    """The blob that becomes unreferenced when this version of the record is replaced or deleted; "" if there is none.

    `record` may be a copy of another record, and then names that record's blob, which stays.
    """
    return record.blob if record.blob and blob_keys.blob_owner(record.blob) == key else ""


def expired(item: Mapping[str, Value], now: datetime) -> bool:
    """Whether the item has expired. Engines delete expired items late; readers must not show them."""
    return "ttl" in item and int(item["ttl"]) <= now.timestamp()
