"""The records of the change stream of a DynamoDB table, as Lambda's events contain them.

Knows: the form of these records. Must not know: the reader, or the contents of items.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from hibernaut.adapters.table.dynamodb_requests import plain_item
from hibernaut.ports.storage.table import Item, Key
from hibernaut.schemas.immutable import immutable


@immutable
class ChangeRecord:
    """One change of one item: the item before and after it (None: there was or is none)."""

    key: Key
    old: Item | None
    new: Item | None


def record_of(change: Mapping[str, Any]) -> ChangeRecord:
    """The change in a record of the stream. `change`: its member `dynamodb`."""
    key = plain_item(change["Keys"])
    old, new = change.get("OldImage"), change.get("NewImage")
    return ChangeRecord(
        key=Key(str(key["pk"]), str(key["sk"])),
        old=plain_item(old) if old else None,
        new=plain_item(new) if new else None,
    )


def lag_of(records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The age of the oldest record of an event in milliseconds, as `lag_ms`; nothing if the stream names no times."""
    times = [float(at) for record in records if (at := record["dynamodb"].get("ApproximateCreationDateTime")) is not None]
    return {"lag_ms": max(0, int((time.time() - min(times)) * 1000))} if times else {}
