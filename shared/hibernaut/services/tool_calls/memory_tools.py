"""The recall and archival tools: recall searches the log, archival memory stores and searches passages (RT 5.2,
7.5).

Results have V1's shapes. An invalid argument (a date, a limit) is an error return that says what is expected.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from hibernaut.domain.search import index_documents
from hibernaut.domain.search.bm25 import best
from hibernaut.domain.search.passage_texts import checked
from hibernaut.domain.times import local_time, moment_of
from hibernaut.domain.turn.actor import Call
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.messages.message import Message
from hibernaut.services.host import Host
from hibernaut.services.search.hybrid_search import HybridSearch, SearchHit, SearchResult, SearchScope, fits
from hibernaut.services.search.search_api import TOP_K, SearchApi, archival_hit, checked_span, passage_filter, passes
from hibernaut.services.steps.step_work import StepWork
from hibernaut.services.tool_calls.tool_arguments import BadToolArguments, text_argument
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.lists.logs import IdRange

MOST_ROWS = 20_000
"""The maximum number of log rows that a search without a query reads."""
CHUNK = 200
"""The number of rows in one read."""
MOST_RESULTS = 100
_ROLES = ("assistant", "user", "tool")


@immutable
class MemoryAnswer:
    """The return of a call to the model, and the passage that it inserts, if any."""

    status: Literal["success", "error"]
    message: Json
    passage: Passage | None = None


class MemoryTools:
    """The recall and archival tools of agents."""

    def __init__(self, stores: TenantStores, host: Host, memory: HybridSearch) -> None:
        self._tenant = stores.tenant
        self._agent_logs = stores.agent_logs
        self._memory = memory
        self._searches = SearchApi(stores, memory)
        self._clock = host.clock
        self._ids = host.ids

    def call(self, work: StepWork, call: Call) -> MemoryAnswer:
        """Perform one call. Invalid arguments are error returns, not exceptions."""
        try:
            match call.name:
                case "conversation_search":
                    return MemoryAnswer("success", self._conversation(work, call.args))
                case "archival_memory_insert":
                    return self._insert(call.args)
                case "archival_memory_search":
                    return MemoryAnswer("success", str(self._archival(work, call.args)))
                case _:
                    return MemoryAnswer("error", f"{call.name} cannot be used on this server.")
        except BadToolArguments as refusal:
            return MemoryAnswer("error", str(refusal))
        except InvalidArgument as refusal:
            return MemoryAnswer("error", refusal.detail.removeprefix("INVALID_ARGUMENT: "))

    def _conversation(self, work: StepWork, args: JsonObject) -> JsonObject:
        """Search the messages of all conversations of the agent; without a query, return the newest."""
        limit = _whole(args, "limit", 5)
        roles = _texts(args, "roles")
        if not set(roles) <= set(_ROLES):
            raise BadToolArguments(f"`roles` may hold {', '.join(_ROLES)}.")
        start, end = _span(args, ("start_date", "end_date"), work.agent.timezone)
        query = text_argument(args, "query")
        scope = SearchScope("message", (work.agent.id,), roles=tuple(roles), start=start, end=end)
        if query.strip():
            found = self._memory.messages(scope, query, limit=limit)
        else:
            found = SearchResult(tuple(SearchHit(row, 0.0) for row in islice(self._newest(work, scope), limit)))
        if not found.hits:
            return {"message": f"No results found.{_warning(found)}", "results": []}
        now = self._clock.now()
        return {
            "message": f"Showing {len(found.hits)} results:{_warning(found)}",
            "results": [_shown(hit, now, work.agent.timezone, ranked=bool(query.strip())) for hit in found.hits],
        }

    def _newest(self, work: StepWork, scope: SearchScope) -> Iterator[Message]:
        """The agent's messages that match the scope, newest first."""
        before: str | None = None
        for _ in range(MOST_ROWS // CHUNK):
            rows = self._agent_logs.page(work.agent.id, IdRange(None, before), limit=CHUNK, descending=True)
            for row in rows:
                document = index_documents.of_message(self._tenant, work.agent.id, row)
                if document is not None and fits(document, scope):
                    yield row
            if len(rows) < CHUNK:
                return
            before = rows[-1].id

    def _insert(self, args: JsonObject) -> MemoryAnswer:
        """Build the passage. The step's transaction writes it and chooses the archive."""
        text, tags = checked(text_argument(args, "content"), _texts(args, "tags") or None)
        now = self._clock.now()
        passage = Passage(id=self._ids.new("passage"), text=text, tags=tags, created_at=now, updated_at=now)
        return MemoryAnswer("success", None, passage)

    def _archival(self, work: StepWork, args: JsonObject) -> list[JsonObject]:
        query, limit, match_all = text_argument(args, "query"), _whole(args, "top_k", TOP_K), args.get("tag_match_mode") == "all"
        span = _span(args, ("start_datetime", "end_datetime"), work.agent.timezone)
        scope = passage_filter(_texts(args, "tags"), all_tags=match_all, span=span)
        found = [*self._searches.archival(work.agent, scope, query, limit=limit).hits]
        fresh = [(passage, passage.text) for passage in work.effects.passages if passes(passage, scope)]
        for passage, score in reversed(best(query, fresh, limit)):  # Inserted by this step: not indexed yet.
            found.insert(round((1.0 - score) * len(found)), SearchHit(passage, score))
        return [_passage(hit, work.agent.timezone) for hit in found[:limit]]


def _passage(hit: SearchHit[Passage], timezone: str) -> JsonObject:
    fields: JsonObject = archival_hit(hit.record, timezone).model_dump()
    return {**fields, "relevance": _relevance(hit)} if hit.lexical_rank or hit.vector_rank else fields


def _relevance(hit: SearchHit[Passage] | SearchHit[Message]) -> JsonObject:
    return {"rrf_score": round(hit.score, 6), "vector_rank": hit.vector_rank, "fts_rank": hit.lexical_rank}


def _warning(found: SearchResult[Message]) -> str:
    """A warning for the agent if the search was incomplete; empty otherwise."""
    if found.asleep:
        return " (The index of memory is asleep: only the newest messages were searched, by their words.)"
    return " (The search could not read all recent messages.)" if found.incomplete else ""


def _shown(hit: SearchHit[Message], now: datetime, timezone: str, *, ranked: bool) -> JsonObject:
    row = hit.record
    fields: JsonObject = {
        "timestamp": local_time(row.created_at, timezone).isoformat(timespec="seconds"),
        "time_ago": _ago(now - row.created_at),
        "role": row.role,
        **({"relevance": {**_relevance(hit), "search_mode": "hybrid"}} if ranked else {}),
        "content": row.text(),
    }
    if row.tool_calls:
        fields["tool_calls"] = [{"name": call.function.name, "arguments": call.function.arguments} for call in row.tool_calls]
    return fields


def _ago(span: timedelta) -> str:
    seconds = max(0, int(span.total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit} ago"
    return f"{seconds}s ago"


def _texts(args: JsonObject, name: str) -> list[str]:
    value = args.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BadToolArguments(f"`{name}` must be a list of texts.")
    return value


def _whole(args: JsonObject, name: str, default: int) -> int:
    value = args.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadToolArguments(f"`{name}` must be a whole number from 1 to {MOST_RESULTS}.")
    return min(value, MOST_RESULTS)


def _span(args: JsonObject, names: tuple[str, str], timezone: str) -> tuple[datetime | None, datetime | None]:
    start, end = names
    return checked_span(_moment(args, start, timezone), _moment(args, end, timezone, end=True))


def _moment(args: JsonObject, name: str, timezone: str, *, end: bool = False) -> datetime | None:
    text = text_argument(args, name)
    try:
        return moment_of(text, timezone, end=end) if text else None
    except ValueError:
        raise BadToolArguments(f"`{name}` must be an ISO 8601 date or time, such as 2026-03-01 or 2026-03-01T14:30.") from None
