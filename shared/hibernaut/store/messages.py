"""Rows of all logs of a tenant: one by its id, and pages across conversations. A conversation's own log is `store.conversations`."""

from __future__ import annotations

from collections.abc import Iterator

from hibernaut.schemas.message import Message
from hibernaut.store import lists
from hibernaut.store.codec import Codec
from hibernaut.store.logs import IdRange
from hibernaut.store.tenant_table import TenantTable

NOUN = "MSGS"


class MessageStore:
    """Rows of all logs of a tenant."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, message_id: str) -> Message | None:
        key = lists.find(self._table, NOUN, message_id)
        item = self._table.get(key) if key else None
        return self._codec.record(Message, item) if item else None

    def walk(self, span: IdRange, *, chunk: int, descending: bool = False) -> Iterator[Message]:
        """Rows in the order asked for, as far as they are asked for (through the index, which may lag)."""
        for item in lists.walked(self._table, NOUN, span, chunk=chunk, descending=descending):
            yield self._codec.record(Message, item)
