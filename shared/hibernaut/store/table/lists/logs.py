"""Reads the rows of a conversation's log: its own rows, and for a fork also the rows that it shares with other logs.

A fork's log is the union of its segments and its own rows, in the order of ids. A fork shares the conversational rows of another
log. It shares a prompt or a summary of that log only if the fork's own window pins it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from hibernaut.domain.window.forks import home
from hibernaut.ports.storage.table import Item, Key, Query
from hibernaut.schemas.agents.conversation import Segment
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.faults.record_faults import RecordLost
from hibernaut.schemas.ids import creation_time, derived_otid
from hibernaut.schemas.messages.message import Message
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec
from hibernaut.store.table.lost_records import tolerated
from hibernaut.store.table.tenant_table import TenantTable

LOST = "This message is lost: its stored content is missing."
"""The text of a row whose blob is missing, in lists."""
CHUNK = 200
"""Rows of one read of a log in chunks, if the caller sets no limit."""


class IdRange(NamedTuple):
    """A range of ids: after < id < before; None: no bound."""

    after: str | None = None
    before: str | None = None


class LogEnd(NamedTuple):
    """The rows of a conversation's log after an id (None: all), with the segments that it shares."""

    conversation: str
    segments: Sequence[Segment]
    after: str | None


class LogReader:
    """Reads log rows, across the segments of a fork. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob
    cannot be read.
    """

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def rows(
        self,
        conversation: str,
        segments: Sequence[Segment],
        span: IdRange,
        *,
        limit: int | None = None,
        descending: bool = False,
    ) -> list[Message]:
        """The rows of a log in the order of ids; newest first if `descending`. `limit` None: all rows. The conversation's own
        rows include its prompts and summaries.
        """
        if not segments:
            return [self.row(item) for item in self._query(conversation, span, limit=limit, descending=descending)]
        sources: list[Iterator[Message]] = [map(self.row, self._walk(conversation, span, limit, descending))]
        for one in segments:
            sources.append(self._shared(one, span, limit, descending))
            sources.append(map(self.row, self._also(one, span, descending)))
        return list(islice(heapq.merge(*sources, key=_id, reverse=descending), limit))

    def own_rows(
        self, conversations: Sequence[str], span: IdRange, *, limit: int | None = None, descending: bool = False
    ) -> list[Message]:
        """The rows of several logs without segments, at most `limit` of each. All logs are read together."""
        pages = self.own_pages([(conversation, span) for conversation in conversations], limit=limit, descending=descending)
        return [row for page in pages for row in page]

    def own_pages(
        self, spans: Sequence[tuple[str, IdRange]], *, limit: int | None = None, descending: bool = False
    ) -> list[list[Message]]:
        """The rows of a range of each of several logs without segments, at most `limit` of each, read together."""
        queries = [self.query(conversation, span, limit=limit, descending=descending) for conversation, span in spans]
        return [[self.row(item) for item in items] for items in self._table.query_many(queries)]

    def shared(self, segments: Sequence[Segment], items: Sequence[Item]) -> set[str]:
        """The ids of the rows among `items` that forks share by one of these segments. `items`: a part of one log, with roles."""
        roles = {keys.last_part(str(item["sk"])): str(item["role"]) for item in items if "role" in item}
        pinned = {message_id for one in segments for message_id in one.also}.intersection(roles)
        ranges = [(one.after or "", one.upto) for one in segments]
        in_range = {
            one for one, role in roles.items() if role != "summary" and any(after < one <= upto for after, upto in ranges)
        }
        prompts = [
            item for item in items if item.get("role") == "system" and keys.last_part(str(item["sk"])) in in_range - pinned
        ]
        places = [Key(str(item["pk"]), str(item["sk"])) for item in prompts]
        prompt_items = self._table.get_many(places) if places else {}
        return pinned | (in_range - {row.id for row in map(self.row, prompt_items.values()) if not is_conversational(row)})

    def _shared(self, one: Segment, span: IdRange, limit: int | None, descending: bool) -> Iterator[Message]:
        """The conversational rows in a segment's range, without the rows in `also`."""
        if not one.upto:
            return
        also = set(one.also)
        for item in self._walk(one.conversation, _within(one, span), limit, descending):
            row = self.row(item)
            if is_conversational(row) and row.id not in also:
                yield row

    def roles(self, logs: Sequence[LogEnd]) -> list[list[tuple[str, str]]]:
        """The ids and roles of the rows of each log, in order. Of shared logs it includes prompts and summaries, which `rows`
        leaves out.
        """
        parts = [
            (place, part)
            for place, log in enumerate(logs)
            for part in [(log.conversation, IdRange(log.after)), *_shared_parts(log)]
        ]
        read = self._table.query_many([self.query(*part, names=("role",)) for _, part in parts])
        found: list[set[tuple[str, str]]] = [set() for _ in logs]
        for (place, _), items in zip(parts, read, strict=True):
            found[place].update(map(_role, items))
        for log, roles in zip(logs, found, strict=True):
            roles.update(_role(item) for one in log.segments for item in self._also(one, IdRange(log.after)))
        return [sorted(roles) for roles in found]

    def messages(self, conversation: str, message_ids: Sequence[str], segments: Callable[[], Sequence[Segment]]) -> list[Message]:
        """The rows that exist among these, in the order of `message_ids`. `segments` is called only if a row is not the
        conversation's own.
        """
        found = self._table.get_many([keys.message(self._tenant, conversation, message_id) for message_id in message_ids])
        rows = {row.id: row for row in map(self.row, found.values())}
        missing = [message_id for message_id in message_ids if message_id not in rows]
        parts = segments() if missing else ()
        homes = {message_id: place for message_id in missing if (place := home(parts, message_id)) is not None}
        if homes:
            places = [keys.message(self._tenant, place.conversation, message_id) for message_id, place in homes.items()]
            other_rows = map(self.row, self._table.get_many(places).values())
            rows |= {row.id: row for row in other_rows if row.id in homes[row.id].also or is_conversational(row)}
        return [rows[message_id] for message_id in message_ids if message_id in rows]

    def own_messages(self, places: Sequence[tuple[str, str]]) -> dict[str, Message]:
        """The rows that exist of these pairs of a conversation and a message of its own, by conversation, read together."""
        wanted = {keys.message(self._tenant, *place): place[0] for place in places}
        found = self._table.get_many(list(wanted)) if wanted else {}
        return {wanted[key]: self.row(item) for key, item in found.items()}

    def existing(self, conversation: str, message_ids: Sequence[str]) -> set[str]:
        """The ids among these that are rows of the conversation's own log."""
        found = self._table.get_many([keys.message(self._tenant, conversation, message_id) for message_id in message_ids])
        return {keys.last_part(key.sk) for key in found}

    def ids(self, conversation: str, after: str, size: int) -> Iterator[list[str]]:
        """The ids of a conversation's own rows after an id, oldest first, in pages of at most `size`."""
        while items := self.query(conversation, IdRange(after), limit=size, names=("role",)).run(self._table.query):
            yield (found := [keys.last_part(str(item["sk"])) for item in items])
            after = found[-1]

    def first(self, conversations: Sequence[str], message_id: str) -> Message | None:
        """A row by its id, from any of these logs; None if none has it."""
        found = self._table.get_many([keys.message(self._tenant, conversation, message_id) for conversation in conversations])
        return next(map(self.row, found.values()), None)

    def _query(
        self,
        conversation: str,
        span: IdRange,
        *,
        limit: int | None = None,
        descending: bool = False,
    ) -> list[Item]:
        return self.query(conversation, span, limit=limit, descending=descending).run(self._table.query)

    def query(
        self,
        conversation: str,
        span: IdRange,
        *,
        limit: int | None = None,
        descending: bool = False,
        names: Sequence[str] = (),
    ) -> Query:
        """The query of a log's own rows."""
        return Query(
            keys.head(self._tenant, conversation).pk,
            prefix="MSG#",
            after=f"MSG#{span.after}" if span.after else None,
            before=f"MSG#{span.before}" if span.before else None,
            limit=limit,
            descending=descending,
            names=names,
        )

    def _walk(self, conversation: str, span: IdRange, limit: int | None, descending: bool) -> Iterator[Item]:
        """The rows of one log, read lazily in chunks."""
        chunk = CHUNK if limit is None else max(1, limit)
        while span.after is None or span.before is None or span.after < span.before:
            items = self._query(conversation, span, limit=chunk, descending=descending)
            yield from items
            if len(items) < chunk:
                return
            last = keys.last_part(str(items[-1]["sk"]))
            span = IdRange(span.after, last) if descending else IdRange(last, span.before)

    def _also(self, one: Segment, span: IdRange, descending: bool = False) -> Iterator[Item]:
        row_ids = [message_id for message_id in one.also if (span.after or "") < message_id]
        row_ids = sorted((one for one in row_ids if span.before is None or one < span.before), reverse=descending)
        places = [keys.message(self._tenant, one.conversation, message_id) for message_id in row_ids]
        found = self._table.get_many(places) if places else {}
        return (found[key] for key in places if key in found)

    def row(self, item: Item) -> Message:
        """The row of an item."""
        return read_row(self._codec, item)


def read_row(codec: Codec, item: Item) -> Message:
    """The row of an item. Within `tolerating`, a placeholder replaces a lost row. Raises: RecordLost outside of it."""
    try:
        return codec.record(Message, item)
    except RecordLost as lost:
        if not tolerated(lost):
            raise
    message_id, log, agent = (str(item.get(name, "")).rpartition("#")[2] for name in ("sk", "pk", "due_pk"))
    return Message(
        id=message_id,
        role="assistant" if item["role"] == "assistant" else "user" if item["role"] == "user" else "system",
        content=[TextContent(text=LOST)],
        agent_id=agent or log,
        conversation_id=log if agent else None,
        otid=derived_otid(message_id, 0),
        created_at=creation_time(message_id),
    )


def is_conversational(row: Message) -> bool:
    """Whether a row is conversational: it belongs to a window without being pinned. Prompts and summaries are not.

    A system row that a caller sent is conversational. It has an otid; a prompt has none.
    """
    return row.role not in ("system", "summary") or (row.role == "system" and row.otid is not None)


def _within(one: Segment, span: IdRange) -> IdRange:
    """The part of a span within a segment's range."""
    edge = f"{one.upto}~"
    after = max(one.after or "", span.after or "")
    return IdRange(after or None, min(edge, span.before) if span.before else edge)


def _shared_parts(log: LogEnd) -> list[tuple[str, IdRange]]:
    """The parts of other logs that may contain shared rows after the id."""
    return [(one.conversation, _within(one, IdRange(log.after))) for one in log.segments if one.upto > (log.after or "")]


def _role(item: Item) -> tuple[str, str]:
    return keys.last_part(str(item["sk"])), str(item["role"])


def _id(row: Message) -> str:
    return row.id
