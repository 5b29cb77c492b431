"""The tools that look things up and put things away: recall over the log, archival memory over the passages (run-time digest 5.2, 7.5).

The results have V1's shapes. What cannot be read (a date, a limit) is an error return that says what was expected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hibernaut.domain.actor import Call
from hibernaut.domain.lexical import best
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.message import Message
from hibernaut.schemas.passage import Passage, default_archive_id
from hibernaut.services.host import Host
from hibernaut.services.turn_work import Work
from hibernaut.store.logs import Span
from hibernaut.store.stores import Stores

MOST_ROWS = 20_000
"""How many rows of a log a walk looks at, the newest first."""
MOST_RESULTS = 100
_ROLES = ("assistant", "user", "tool")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a look-up returns to the model, and the passage that it puts away, if any."""

    status: Literal["success", "error"]
    message: Json
    passage: Passage | None = None


class _Refused(ValueError):
    """Arguments that cannot be used; the text tells the model what was expected."""


class Recall:
    def __init__(self, stores: Stores, host: Host) -> None:
        self._agent_logs = stores.agent_logs
        self._passages = stores.passages
        self._clock = host.clock
        self._ids = host.ids

    def call(self, work: Work, call: Call) -> Answer:
        try:
            match call.name:
                case "conversation_search":
                    return Answer("success", self._conversation(work, call.args))
                case "archival_memory_insert":
                    return self._insert(work, call.args)
                case "archival_memory_search":
                    return Answer("success", str(self._archival(work, call.args)))
                case _:
                    return Answer("error", f"{call.name} cannot be used on this server.")
        except _Refused as refusal:
            return Answer("error", str(refusal))

    def _conversation(self, work: Work, args: JsonObject) -> JsonObject:
        limit = _whole(args, "limit", 5)
        roles = _texts(args, "roles")
        if not set(roles) <= set(_ROLES):
            raise _Refused(f"`roles` may hold {', '.join(_ROLES)}.")
        start, end = (_moment(args, name, work.agent.timezone) for name in ("start_date", "end_date"))
        rows = [row for row in self._rows(work) if _searchable(row) and (not roles or row.role in roles)]
        rows = [row for row in rows if (start is None or row.created_at >= start) and (end is None or row.created_at <= end)]
        query = _text(args, "query")
        found = [row for row, _ in best(query, ((row, row.text()) for row in rows), limit)] if query.strip() else rows[:limit]
        if not found:
            return {"message": "No results found.", "results": []}
        now = self._clock.now()
        return {"message": f"Showing {len(found)} results:", "results": [_shown(row, now, work.agent.timezone) for row in found]}

    def _rows(self, work: Work) -> Iterator[Message]:
        """What was said in all conversations of the agent, newest first."""
        return iter(self._agent_logs.page(work.tenant, work.agent.id, Span(), limit=MOST_ROWS, descending=True))

    def _insert(self, work: Work, args: JsonObject) -> Answer:
        content = _text(args, "content")
        if not content.strip():
            raise _Refused("`content` is the text to remember; it may not be empty.")
        now = self._clock.now()
        passage = Passage(
            id=self._ids.new("passage"),
            text=content,
            archive_id=default_archive_id(work.agent.id),
            tags=_texts(args, "tags") or None,
            embedding_config=work.agent.embedding_config,
            created_at=now,
            updated_at=now,
        )
        return Answer("success", None, passage)

    def _archival(self, work: Work, args: JsonObject) -> list[JsonObject]:
        query, limit, tags = _text(args, "query"), _whole(args, "top_k", 5), set(_texts(args, "tags"))
        every = args.get("tag_match_mode") == "all"
        start, end = (_moment(args, name, work.agent.timezone) for name in ("start_datetime", "end_datetime"))
        passages = [*self._passages.of_agent(work.tenant, work.agent.id), *work.effects.passages]
        fitting = [
            passage
            for passage in reversed(passages)
            if (not tags or (tags <= set(passage.tags or ()) if every else tags & set(passage.tags or ())))
            and (start is None or passage.created_at >= start)
            and (end is None or passage.created_at <= end)
        ]
        found = best(query, ((passage, passage.text) for passage in fitting), limit)
        zone = _zone(work.agent.timezone)
        return [
            {
                "id": passage.id,
                "timestamp": passage.created_at.astimezone(zone).isoformat(),
                "content": passage.text,
                "tags": passage.tags or [],
            }
            for passage, _ in found
        ]


def _searchable(row: Message) -> bool:
    """Tool rows, prompts, and the calls of the search itself are never results: they would nest (digest 7.5)."""
    if row.role not in ("user", "assistant"):
        return False
    return not any(call.function.name == "conversation_search" for call in row.tool_calls or ())


def _shown(row: Message, now: datetime, timezone: str) -> JsonObject:
    shown: JsonObject = {
        "timestamp": row.created_at.astimezone(_zone(timezone)).isoformat(timespec="seconds"),
        "time_ago": _ago(now - row.created_at),
        "role": row.role,
        "content": row.text(),
    }
    if row.tool_calls:
        shown["tool_calls"] = [{"name": call.function.name, "arguments": call.function.arguments} for call in row.tool_calls]
    return shown


def _ago(span: timedelta) -> str:
    seconds = max(0, int(span.total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit} ago"
    return f"{seconds}s ago"


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def _text(args: JsonObject, name: str) -> str:
    value = args.get(name)
    if value is not None and not isinstance(value, str):
        raise _Refused(f"`{name}` must be a text.")
    return value or ""


def _texts(args: JsonObject, name: str) -> list[str]:
    value = args.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _Refused(f"`{name}` must be a list of texts.")
    return value


def _whole(args: JsonObject, name: str, default: int) -> int:
    value = args.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _Refused(f"`{name}` must be a whole number from 1 to {MOST_RESULTS}.")
    return min(value, MOST_RESULTS)


def _moment(args: JsonObject, name: str, timezone: str) -> datetime | None:
    text = _text(args, name)
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _Refused(f"`{name}` must be an ISO 8601 date or time, such as 2026-03-01 or 2026-03-01T14:30.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=_zone(timezone))
