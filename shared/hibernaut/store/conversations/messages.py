"""Rows of all logs of a tenant: one row by its id, and rows across conversations. `store.conversations.conversations` reads one
conversation's log.
"""

from __future__ import annotations

from collections.abc import Iterator

from hibernaut.schemas.messages.message import Message
from hibernaut.store.table.bodies.codec import Codec
from hibernaut.store.table.lists import lists
from hibernaut.store.table.lists.logs import IdRange, read_row
from hibernaut.store.table.tenant_table import TenantTable

NOUN = "MSGS"


class MessageStore:
    """Rows of all logs of a tenant, through the index LISTS, which may lag.

    Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read.
    """

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, message_id: str) -> Message | None:
        """The row, or None."""
        key = lists.find(self._table, NOUN, message_id)
        item = self._table.get(key) if key else None
        return self._codec.record(Message, item) if item else None

    def walk(self, span: IdRange, *, first: int, descending: bool = False) -> Iterator[Message]:
        """The rows in the order of their ids, newest first if `descending`, read lazily: `first` of them at once, then more and
        more.
        """
        for item in lists.walked(self._table, NOUN, span, first=first, descending=descending):
            yield read_row(self._codec, item)
