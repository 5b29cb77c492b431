"""Records of tool calls in the table: one item for the calls of a step, written in the step's transaction. They expire as
versions of memory do.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from hibernaut.ports.storage.table import Put
from hibernaut.schemas.tools.call_record import StoredCalls
from hibernaut.store.access import tool_policy_keys
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, expired
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable


class CallRecordStore:
    """The recorded calls of one tenant. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be
    read.
    """

    def __init__(self, table: TenantTable, codec: Codec, retention: timedelta) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec
        self._retention = retention

    def put(self, calls: StoredCalls) -> Put:
        """The change that records calls. They outlive the blobs that expire, so their body is no such blob."""
        key = tool_policy_keys.calls(self._tenant, calls.id)
        ttl = int((calls.at + self._retention).timestamp())
        attributes = {"ttl": ttl, **keys.listed(self._tenant, tool_policy_keys.CALLS, calls.id), **self._codec.body(key, calls)}
        return Put({"pk": key.pk, "sk": key.sk, **attributes})

    def walk(self, span: IdRange, now: datetime, *, first: int) -> Iterator[StoredCalls]:
        """The records with after < id < before that have not expired, newest first, read lazily. Reads the index LISTS, which may
        lag.
        """
        walked = lists.walked(self._table, tool_policy_keys.CALLS, span, first=first, descending=True)
        fresh = (item for item in walked if not expired(item, now))
        yield from readable(lambda item: self._codec.record(StoredCalls, item), fresh)
