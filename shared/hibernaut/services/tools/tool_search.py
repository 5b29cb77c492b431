"""Finds tools by words: names, descriptions, tags and parameters (Letta V1 API, API 2.9).

V1 embeds tools in a vector store. A tenant has some hundred tools at most, whose words are read at each search: no index has to
follow them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from hibernaut.domain.search.bm25 import best
from hibernaut.domain.wire.listing import Page
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.tools.tool import StoredTool, ToolSearchResult
from hibernaut.services.tools.tools import ToolFilter, Tools

TOGETHER = 100
"""Tools that are read at a time."""
MOST_RESULTS = 100
SearchMode = Literal["vector", "fts", "hybrid"]


@immutable
class ToolQuery:
    """A search. Without a text all tools that pass are results, newest first. `tags`: any of them."""

    text: str
    mode: SearchMode = "hybrid"
    tool_types: Sequence[str] = ()
    tags: Sequence[str] = ()
    limit: int = 50


class ToolSearch:
    """Searches the tools of one tenant."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def search(self, query: ToolQuery) -> list[ToolSearchResult]:
        """The best tools. Raises: InvalidArgument for an unknown type, a limit out of range, and a search by vectors alone."""
        if query.mode == "vector":
            raise InvalidArgument(
                "INVALID_ARGUMENT: Tools have no vectors here: use search_mode fts, or hybrid, which finds them by their words."
            )
        if not 1 <= query.limit <= MOST_RESULTS:
            raise InvalidArgument(f"INVALID_ARGUMENT: limit must be from 1 to {MOST_RESULTS}, not {query.limit}.")
        texts = [(tool.id, _text(tool)) for tool in self._fitting(query)]
        if query.text.strip():
            hits = best(query.text, texts, query.limit)
        else:
            hits = [(tool_id, 0.0) for tool_id, _ in texts[: query.limit]]
        found = self._tools.known([tool_id for tool_id, _ in hits])
        ranked = enumerate(((found[tool_id], score) for tool_id, score in hits if tool_id in found), 1)
        return [_result(tool, rank if query.text.strip() else None, score) for rank, (tool, score) in ranked]

    def _fitting(self, query: ToolQuery) -> Iterator[StoredTool]:
        filters, after = ToolFilter(tool_types=query.tool_types), None
        while True:
            page = self._tools.list(filters, Page(after=after, limit=TOGETHER, descending=True))
            if not page:
                return
            yield from (tool for tool in page if not query.tags or set(query.tags) & set(tool.tags))
            after = page[-1].id


def _text(tool: StoredTool) -> str:
    """The searchable text of a tool. A name like `roll_dice` is two words."""
    schema = tool.json_schema or {}
    parameters = schema.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    properties_of = properties.items() if isinstance(properties, dict) else ()
    descriptions = [f"{name} {each.get('description', '') if isinstance(each, dict) else ''}" for name, each in properties_of]
    return "\n".join([tool.name or "", tool.description or "", *tool.tags, *descriptions])


def _result(tool: StoredTool, rank: int | None, score: float) -> ToolSearchResult:
    return ToolSearchResult(tool=tool, embedded_text=_text(tool), fts_rank=rank, combined_score=score)
