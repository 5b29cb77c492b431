"""Records to items and back: the record is one JSON attribute, `body`; what is too large for an item lies in a blob.

An item holds its keys, the few attributes that are conditioned or filtered on, `v` (the format version of the body), `ttl` where it
has one, and `body`, or `blob` with the key of where the body lies. Readers upcast old versions; there are no migrations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel

from hibernaut.ports.blobs import Blobs
from hibernaut.ports.table import Item, Key, Table, Value

Record = TypeVar("Record", bound=BaseModel)
VERSION = 1
INLINE_BYTES = 64_000
"""Bodies over this many bytes overflow into a blob, so that a step stays below a transaction's limit."""


class Codec:
    def __init__(self, blobs: Blobs, table: Table | None = None) -> None:
        """`table`: where items are looked up anew whose blob went while they were read."""
        self._blobs = blobs
        self._table = table

    def item(self, key: Key, record: BaseModel, inline: int = INLINE_BYTES, /, **attributes: Value) -> dict[str, Value]:
        """The whole item of a record; a large body is written to its blob first (children before the parent that shows them)."""
        return {"pk": key.pk, "sk": key.sk, "v": VERSION, **attributes, **self.body(key, record, inline)}

    def body(self, key: Key, record: BaseModel, inline: int = INLINE_BYTES) -> dict[str, Value]:
        """Only the attributes that carry the body: for updates. Both are always set, so that one never outlives the other.

        `inline`: how many bytes may stay in the item, where many are written together; it counts below INLINE_BYTES only.
        """
        text, most = record.model_dump_json(), min(inline, INLINE_BYTES)
        if len(text) <= most // 4 or len(text.encode()) <= most:
            return {"body": text, "blob": ""}
        data = text.encode()
        blob = f"{key.pk}/{key.sk}/{hashlib.sha256(data).hexdigest()[:32]}".replace("#", "/")
        self._blobs.put(blob, data)
        return {"body": "", "blob": blob}

    def record(self, kind: type[Record], item: Item) -> Record:
        """The record of an item; of a newer one in its place, where that came between the readings of the item and of its blob.
        Raises: KeyError where the item is gone."""
        return kind.model_validate_json(str(item["body"]) or self._outside(item))

    def _outside(self, item: Item) -> bytes | str:
        try:
            return self._blobs.get(str(item["blob"]))
        except KeyError:
            now = self._table.get(Key(str(item["pk"]), str(item["sk"]))) if self._table else None
            if now is None or now["blob"] == item["blob"]:
                raise
            return str(now["body"]) or self._outside(now)


def expired(item: Mapping[str, Value], now: datetime) -> bool:
    """Whether the item's time to live is over: engines drop such items late, readers never show them."""
    return "ttl" in item and int(item["ttl"]) <= now.timestamp()
