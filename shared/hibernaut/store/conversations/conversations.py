"""Conversations in the table: the head, the log, and the cached window of a process.

This module has reads and single changes. `store.runs.transactions` combines changes into transactions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from hibernaut.ports.storage.table import ABSENT, PRESENT, Check, Condition, Delete, Item, Op, Put, Term, Update, Value
from hibernaut.schemas.agents.conversation import Head, Segment, Window
from hibernaut.schemas.errors import Conflict
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message, Role
from hibernaut.store.conversations import place_keys
from hibernaut.store.memory.search_outbox import SearchOutbox
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import INLINE_BYTES, Codec, freed, json_of
from hibernaut.store.table.bodies.packs import PACKED_TO, RESTING
from hibernaut.store.table.lists.logs import IdRange, LogReader, is_conversational
from hibernaut.store.table.lost_records import needing_all
from hibernaut.store.table.lru_cache import LruCache, TenantCache
from hibernaut.store.table.tenant_table import TenantTable

MAX_READS = 20
"""Reads of a conversation before `load` raises Conflict because head and tail disagree."""
CACHED_BYTES = 160_000_000
"""The size of the window cache in a process, in bytes of memory: about 20,000 short messages."""
_BYTES_OF_A_MESSAGE, _BYTES_OF_A_TOKEN = 8_000, 4
"""The estimated memory of a message without its text, and of a token of text."""
POINTED_AT_ONCE = 500
"""The largest number of rows that one pointer names."""
ROWS_BYTES = 2_000_000
"""The largest total size of the bodies of new rows within one transaction, in bytes: half of the transaction's limit."""
LONG = "long"
"""The attribute of a run's place in a queue, if the run has more messages than the first page of its input."""
_FORKABLE = "conv-"
"""The id prefix of conversations that may be forks: a default conversation, which has its agent's id, is none."""


class RowText(NamedTuple):
    """A row of a log as it is stored: its JSON, and its other attributes."""

    id: str
    role: Role
    text: str

    @classmethod
    def of(cls, row: Message) -> RowText:
        """The row's id, role and JSON as it is stored."""
        return cls(row.id, row.role, json_of(row))


@immutable
class LoadedConversation:
    """A consistent snapshot of a conversation: the head, and the messages of its window in order (the system message first)."""

    head: Head
    messages: tuple[Message, ...]
    size: int | None = field(default=None, compare=False)
    """The approximate size of the messages in memory, in bytes; None: not counted yet."""


class ConversationStore:
    """Heads, logs and windows of conversations. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob
    cannot be read.
    """

    def __init__(
        self, table: TenantTable, codec: Codec, search_outbox: SearchOutbox, cache: TenantCache[LoadedConversation]
    ) -> None:
        """`cache`: the process's cached windows of the tenant's conversations."""
        self._search_outbox = search_outbox
        self._table = table
        self._tenant = table.tenant
        self._codec = codec
        self.logs = LogReader(table, codec)
        self._cache = cache
        self._also_forget: list[Callable[[str], None]] = []

    def head(self, conversation: str) -> Head | None:
        """The head of a conversation, or None."""
        item = self._table.get(keys.head(self._tenant, conversation))
        return self.read_head(item) if item else None

    def heads(self, conversations: Sequence[str]) -> dict[str, Head]:
        """The heads that exist of these conversations, by id."""
        found = self._table.get_many([keys.head(self._tenant, conversation) for conversation in conversations])
        heads = [self.read_head(item) for item in found.values()]
        return {head.id: head for head in heads}

    def read_head(self, item: Item) -> Head:
        """The head of an item."""
        head = self._codec.record(Head, item)
        head.owner = str(item["owner"]) or None
        head.version = int(item["version"])
        head.waiting = int(item["waiting"])
        head.pending = str(item["pending"]) or None
        head.answered = str(item.get("answered", "")) or None
        head.last_message = str(item["last_message"]) or None
        head.messages = int(item["messages"])
        head.newest = str(item.get("newest", "")).split()
        head.counted, head.reported = int(item.get("counted", 0)), int(item.get("reported", 0))
        head.measured_with = str(item.get("measured_with", ""))
        head.read_packs(resting=bool(item.get(RESTING)), packed_to=str(item.get(PACKED_TO, "")))
        head.calls_open = {"yes": True, "no": False}.get(str(item.get("calls_open", "")))
        return head

    def load(self, conversation: str, head: Head | None = None) -> LoadedConversation | None:
        """A consistent snapshot of head and window; None if there is no such conversation. Reads again until the head and the
        tail of the log agree.

        `head`: a head that was just read or written. If the log does not agree with it, `load` reads the head again. Raises:
        Conflict after `MAX_READS` attempts.
        """
        for tried in range(MAX_READS):
            head = head if head is not None and tried == 0 else self.head(conversation)
            if head is None:
                return None
            # An explicitly set system message may differ from the head's: the last attempt accepts it as it is.
            with needing_all():
                conversation_now = self._snapshot(head, any_prompt=tried == MAX_READS - 1)
            if conversation_now is not None:
                self.keep(conversation_now)
                return conversation_now
        raise Conflict(f"CONFLICT: The log of conversation {conversation} does not settle; try again.")

    def _snapshot(self, head: Head, *, any_prompt: bool = False) -> LoadedConversation | None:
        cached = self._cache.get(head.id)
        if cached is not None and cached.head.version == head.version:
            return replace(cached, head=head)
        cached_tail: tuple[Message, ...] = ()
        if cached is not None and cached.head.window == head.window and cached.head.version < head.version:
            cached_tail = cached.messages[len(head.window.pinned) :]
        after = cached_tail[-1].id if cached_tail else head.window.cut
        tail = self.logs.rows(head.id, head.segments, IdRange(after))
        newest = tail[-1].id if tail else after
        if head.last_message != newest or not {row for row in head.newest if row > (after or "")} <= {row.id for row in tail}:
            return None
        pinned = self._pinned(head)
        if pinned is None or not (any_prompt or _belongs(head, pinned)):
            return None
        excluded = set(head.window.pinned)
        fresh = tuple(row for row in tail if row.id not in excluded and is_conversational(row))
        size = None
        if cached is not None and cached_tail:  # the cached messages were counted when they were cached
            size = _size(cached) + _bytes_of(pinned) + _bytes_of(fresh) - _bytes_of(cached.messages[: len(head.window.pinned)])
        return LoadedConversation(head, (*pinned, *cached_tail, *fresh), size)

    def _pinned(self, head: Head) -> list[Message] | None:
        found = self.logs.messages(head.id, head.window.pinned, lambda: head.segments)
        return found if len(found) == len(head.window.pinned) else None

    def segments(self, conversation: str) -> list[Segment]:
        """The parts of other logs at the beginning of a fork's log; an empty list for a conversation that is no fork."""
        head = self.head(conversation) if conversation.startswith(_FORKABLE) else None
        return head.segments if head else []

    def keep(self, conversation: LoadedConversation) -> None:
        """Cache a conversation for the next load. The head's version decides whether the entry is valid."""
        self._cache.keep(
            conversation.head.id,
            conversation if conversation.size is not None else replace(conversation, size=_size(conversation)),
        )

    def appended(self, before: Head, after: Head, rows: Sequence[Message], system: Message | None = None) -> None:
        """Update the cached window after a transaction that appended `rows` to the log of `before`. `system`: the new system
        message, if the transaction rewrote it.

        A cache entry of another version or another window stays as it is.
        """
        cached = self._cache.get(before.id)
        if cached is None or cached.head.version != before.version or cached.head.window != after.window:
            return
        messages_before = (system, *cached.messages[1:]) if system else cached.messages
        conversational = [row for row in rows if is_conversational(row)]
        size = _size(cached) + _bytes_of(conversational) + (_bytes_of([system]) - _bytes_of(cached.messages[:1]) if system else 0)
        head = after.model_copy(update={"version": before.version + 1})
        self.keep(LoadedConversation(head, (*messages_before, *conversational), size))

    def page(
        self,
        conversation: str,
        *,
        after: str | None = None,
        before: str | None = None,
        limit: int | None = None,
        descending: bool = False,
    ) -> list[Message]:
        """The rows of the log with after < id < before, in the order of their ids; newest first if `descending`."""
        segments = self.segments(conversation)
        return self.logs.rows(conversation, segments, IdRange(after, before), limit=limit, descending=descending)

    def messages(self, conversation: str, message_ids: Sequence[str]) -> list[Message]:
        """The rows of the log that exist among these, in the order of `message_ids`."""
        return self.logs.messages(conversation, message_ids, lambda: self.segments(conversation))

    def message(self, conversation: str, message_id: str) -> Message | None:
        """A row of the log, or None."""
        found = self.messages(conversation, [message_id])
        return found[0] if found else None

    def put_rows(self, head: Head, rows: Sequence[Message]) -> list[Put]:
        """As `put_texts`."""
        return self.put_texts(head, [RowText.of(row) for row in rows])

    def put_texts(self, head: Head, rows: Sequence[RowText]) -> list[Put]:
        """The changes that write new rows of a log, with the pointer by which searches find them at once. Condition: the ids are
        free.

        The rows share `ROWS_BYTES`: a larger body goes to a blob, so that the transaction stays below its size limit.
        """
        share = ROWS_BYTES // max(1, len(rows))
        puts = [Put(self._row_item(head.id, head.agent_id, row, share), ABSENT) for row in rows]
        return [*puts, *self._search_outbox.rows(head.agent_id, head.id, rows)]

    def pointed(self, head: Head, rows: Sequence[Message]) -> list[Put]:
        """The pointers by which searches find rows that are written before their head."""
        starts = range(0, len(rows), POINTED_AT_ONCE)
        return [
            put
            for start in starts
            for put in self._search_outbox.rows(head.agent_id, head.id, rows[start : start + POINTED_AT_ONCE])
        ]

    def put_message(self, conversation: str, row: Message, *, rewrite: bool = False, inline: int = INLINE_BYTES) -> Put:
        """The change that writes a row. A new row must not exist; a rewritten one (the system message) must."""
        item = self._row_item(conversation, row.agent_id, RowText.of(row), inline)
        if not rewrite:
            return Put(item, ABSENT)
        # The caller does not know the blob of the old body. Only for a large new body the old item is read to free its blob.
        before = self._table.get(keys.message(self._tenant, conversation, row.id)) if item["blob"] else None
        return Put(item, PRESENT, str(before["blob"]) if before else "")

    def _row_item(self, conversation: str, agent_id: str, row: RowText, inline: int) -> dict[str, Value]:
        places = keys.listed(self._tenant, "MSGS", row.id)
        if conversation != agent_id:  # an agent with its default conversation alone pays for no further place
            places |= place_keys.agent_message(self._tenant, agent_id, row.id)
        return self._codec.text_item(keys.message(self._tenant, conversation, row.id), row.text, inline, **places, role=row.role)

    def erase_rows(self, conversation: str, rows: Sequence[Message]) -> list[Put]:
        """The changes that replace the contents of rows, with the blobs that they free. Condition: the rows exist."""
        places = [keys.message(self._tenant, conversation, row.id) for row in rows]
        before = self._table.get_many(places) if places else {}
        puts = [self.put_message(conversation, row, rewrite=True) for row in rows]
        return [replace(put, frees=str(before[put.key]["blob"])) if put.key in before else put for put in puts]

    def create_head(self, head: Head, token: str) -> Put:
        """The change that creates a head. Condition: the conversation has none."""
        key = keys.head(self._tenant, head.id)
        return Put(self._codec.item(key, _bare(head), **_state(head), wt=token), ABSENT)

    def change_head(self, before: Head, after: Head, token: str, *terms: Term) -> Update:
        """The change from one head to the next. Conditions: owner, version and pending approval are those of `before`, and
        `terms`.
        """
        key = keys.head(self._tenant, after.id)
        condition: Condition = (
            Term("owner", Op.EQ, before.owner or ""),
            Term("version", Op.EQ, before.version),
            Term("pending", Op.EQ, before.pending or ""),
            *terms,
        )
        attributes: dict[str, Value] = {**_state(after), "wt": token}
        waiting = after.waiting - before.waiting
        del attributes["waiting"]
        frees = ""
        if (before.window, before.compiled) != (after.window, after.compiled):
            attributes |= self._codec.body(key, _bare(after))
            frees = freed(key, before)
        return Update(key, set=attributes, add={"waiting": waiting} if waiting else {}, when=condition, frees=frees)

    def must_exist(self, conversation: str) -> Check:
        """The condition that the conversation exists, for a fork that shares its log."""
        return Check(keys.head(self._tenant, conversation), PRESENT)

    def share(self, source: str, fork: str) -> Put:
        """The change that marks a log, so that a deletion keeps the rows that the fork shares."""
        key = keys.fork(self._tenant, source, fork)
        return Put({"pk": key.pk, "sk": key.sk})

    def unshare(self, source: str, fork: str) -> Delete:
        """The change that deletes a fork's mark."""
        return Delete(keys.fork(self._tenant, source, fork))

    def is_shared(self, source: str) -> bool:
        """Whether a fork shares rows of a log."""
        return bool(self._table.query(keys.head(self._tenant, source).pk, prefix="FORK#", limit=1, names=("sk",)))

    def forks(self, source: str) -> list[Head]:
        """The heads of the existing forks that share rows of a log. Raises: Conflict if a marked fork has no head after
        `MAX_READS` reads.
        """
        for _ in range(MAX_READS):
            marks = self._table.query(keys.head(self._tenant, source).pk, prefix="FORK#")
            found = self.heads([keys.last_part(str(mark["sk"])) for mark in marks])
            if len(found) == len(marks):
                return list(found.values())
        raise Conflict(f"CONFLICT: The forks of conversation {source} do not settle; try again.")

    def newest_fork(self, source: str) -> Head | None:
        """The head of the newest fork that shares rows of a log. None: there is none, or it is being deleted."""
        mark = self._table.query(keys.head(self._tenant, source).pk, prefix="FORK#", limit=1, descending=True)
        return next(iter(self.heads([keys.last_part(str(one["sk"])) for one in mark]).values()), None)

    def queue(self, conversation: str) -> list[str]:
        """The ids of the waiting runs, in queue order."""
        items = self._table.query(keys.head(self._tenant, conversation).pk, prefix="QUEUE#")
        return [keys.last_part(str(item["sk"])) for item in items]

    def long_in_queue(self, conversation: str) -> list[str]:
        """The ids of the waiting runs with more messages than their first page has, in queue order."""
        items = self._table.query(keys.head(self._tenant, conversation).pk, prefix="QUEUE#")
        return [keys.last_part(str(item["sk"])) for item in items if LONG in item]

    def forget(self, conversation: str) -> None:
        """Drop a deleted conversation from this cache and from the caches that `also_forget` registered."""
        self._cache.forget(conversation)
        for forget in self._also_forget:
            forget(conversation)

    def also_forget(self, forget: Callable[[str], None]) -> None:
        """Register a callback that `forget` calls with the id of each deleted conversation."""
        self._also_forget.append(forget)


def window_cache() -> LruCache[LoadedConversation]:
    """A cache for the windows of all tenants in a process."""
    return LruCache(CACHED_BYTES, _size)


def _bare(head: Head) -> Head:
    """The head without what `_state` holds: readers take it from there, and an item stays below a KB."""
    fields = {name: Head.model_fields[name].get_default(call_default_factory=True) for name in _state(head)}
    return head.model_copy(update=fields)


def _state(head: Head) -> dict[str, Value]:
    return {
        "owner": head.owner or "",
        "version": head.version,
        "waiting": head.waiting,
        "pending": head.pending or "",
        "answered": head.answered or "",
        "last_message": head.last_message or "",
        "newest": " ".join(head.newest),
        "counted": head.counted,
        "reported": head.reported,
        "measured_with": head.measured_with,
        "messages": head.messages,
        "calls_open": {True: "yes", False: "no", None: ""}[head.calls_open],
    }


def text_hash(text: str) -> str:
    """The hash by which a head identifies the text of its system message."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def prompt_hash(row: Message) -> str:
    """The hash by which a head identifies the row of its system message: its text, and the text that is sent in its place."""
    frozen = row.frozen
    if frozen is None or not (frozen.text or frozen.updates):
        return text_hash(row.text())
    return text_hash("\0".join([row.text(), frozen.text, *(f"{update.message_id} {update.text}" for update in frozen.updates)]))


def _size(conversation: LoadedConversation) -> int:
    return _bytes_of(conversation.messages) if conversation.size is None else conversation.size


def _bytes_of(rows: Iterable[Message]) -> int:
    return sum(map(_bytes, rows))


def _bytes(row: Message) -> int:
    """The estimated size of a row in memory. A row without a token count is short, or is counted with the next snapshot."""
    images = (part.source for part in row.content if part.type == "image")
    data = sum(len(image.data or "") for image in images if image.type != "url")
    return _BYTES_OF_A_MESSAGE + _BYTES_OF_A_TOKEN * (row.tokens or 0) + data


def _belongs(head: Head, pinned: Sequence[Message]) -> bool:
    """Whether the system message is the one of the head. It is rewritten in place, so the head identifies it by the hash of its
    text.
    """
    if head.compiled is None or not head.compiled.text or not pinned:
        return True
    return prompt_hash(pinned[0]) == head.compiled.text


def explicit_window(messages: Sequence[str], head: Head) -> Window:
    """A window from an explicit list of ids: these rows are pinned, and later rows follow."""
    return Window(pinned=list(messages), cut=head.last_message)
