"""Rows of all logs of a tenant: one by its id, and pages across conversations. A conversation's own log is `store.conversations`."""

from __future__ import annotations

from hibernaut.ports.table import Table
from hibernaut.schemas.message import Message
from hibernaut.store import lists
from hibernaut.store.codec import Codec

NOUN = "MSGS"


class Messages:
    def __init__(self, table: Table, codec: Codec) -> None:
        self._table = table
        self._codec = codec

    def get(self, tenant: str, message_id: str) -> Message | None:
        key = lists.find(self._table, tenant, NOUN, message_id)
        item = self._table.get(key) if key else None
        return self._codec.record(Message, item) if item else None

    def page(
        self, tenant: str, *, limit: int, after: str | None = None, before: str | None = None, descending: bool = False
    ) -> list[Message]:
        """Rows with after < id < before, in the order asked for (through the index, which may lag)."""
        found = lists.merged(self._table, tenant, NOUN, limit=limit, after=after, before=before, descending=descending)
        items = self._table.get_many(found)
        return [self._codec.record(Message, items[key]) for key in found if key in items]
