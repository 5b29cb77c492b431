"""Records to items and back: the record is one JSON attribute, `body`; what is too large for an item lies in a blob.

Every blob has one owner, the item that names it. Its name is given once and never again: a blob that its owner does not name any more
is free for good. Whoever writes the next version of a record says so by `frees`, and the writer deletes the blob once that is written;
what a crash leaves behind is found by `store.blob_collector`.

An item holds its keys, the few attributes that are conditioned or filtered on, `v` (the format version of the body), `ttl` where it
has one, and `body`, or `blob` with the key of where the body lies. Readers upcast old versions; there are no migrations.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel

from hibernaut.ports.blobs import Blobs
from hibernaut.ports.table import Item, Key, Table, Value
from hibernaut.schemas.stored import Stored
from hibernaut.store import keys
from hibernaut.store.tenant_table import TenantBlobs, TenantTable

Record = TypeVar("Record", bound=BaseModel)
VERSION = 1
INLINE_BYTES = 64_000
"""Bodies over this many bytes overflow into a blob, so that a step stays below a transaction's limit."""


class Codec:
    """Converts records to items and back."""

    def __init__(self, blobs: Blobs | TenantBlobs, table: Table | TenantTable | None = None) -> None:
        """`table`: where items are looked up anew whose blob went while they were read."""
        self._blobs = blobs
        self._table = table

    def item(self, key: Key, record: BaseModel, inline: int = INLINE_BYTES, /, **attributes: Value) -> dict[str, Value]:
        """The whole item of a record; a large body is written to its blob first (children before the parent that shows them)."""
        body = self.body(key, record, inline, ephemeral="ttl" in attributes)
        return {"pk": key.pk, "sk": key.sk, "v": VERSION, **attributes, **body}

    def body(self, key: Key, record: BaseModel, inline: int = INLINE_BYTES, *, ephemeral: bool = False) -> dict[str, Value]:
        """Only the attributes that carry the body: for updates. Both are always set, so that one never outlives the other.

        `inline`: how many bytes may stay in the item, where many are written together; it counts below INLINE_BYTES only.
        `ephemeral`: the item has a time to live, and its blob lies with those that expire.
        """
        text, most = record.model_dump_json(), min(inline, INLINE_BYTES)
        if len(text) <= most // 4 or len(text.encode()) <= most:
            return {"body": text, "blob": ""}
        blob = keys.body_blob(key, secrets.token_hex(16), ephemeral=ephemeral)
        self._blobs.put(blob, text.encode())
        return {"body": "", "blob": blob}

    def record(self, kind: type[Record], item: Item) -> Record:
        """The record of an item; of a newer one in its place, where that came between the readings of the item and of its blob.
        Raises: KeyError where the item is gone."""
        if inline := str(item["body"]):
            return kind.model_validate_json(inline)
        body, blob = self._outside(item)
        record = kind.model_validate_json(body)
        if isinstance(record, Stored):
            record.read_from(blob)
        return record

    def _outside(self, item: Item) -> tuple[bytes | str, str]:
        """A body, and the blob that it was read from."""
        blob = str(item["blob"])
        try:
            return self._blobs.get(blob), blob
        except KeyError:
            now = self._table.get(Key(str(item["pk"]), str(item["sk"]))) if self._table else None
            if now is None or now["blob"] == blob:
                raise
            return (str(now["body"]), "") if now["body"] else self._outside(now)


def freed(key: Key, record: Stored) -> str:
    """The blob that nothing names any more when this version of a record is replaced or deleted; not that of the record which it was
    copied from."""
    return record.blob if record.blob and keys.blob_owner(record.blob) == key else ""


def expired(item: Mapping[str, Value], now: datetime) -> bool:
    """Whether the item's time to live is over: engines drop such items late, readers never show them."""
    return "ttl" in item and int(item["ttl"]) <= now.timestamp()
