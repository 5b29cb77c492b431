"""Stores the tools that an MCP server lists as tools of the type external_mcp (RT 10.8).

A tool keeps its id over all readings, so that agents keep it. The record of its server names its tools; a tool that was written
before that record, or imported without a server, is taken over by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hibernaut.domain.tools.mcp import mcp_schemas, mcp_tools
from hibernaut.domain.tools.mcp.mcp_results import ListedMcpTool, McpListing
from hibernaut.domain.tools.mcp.mcp_schemas import NoModelTakes
from hibernaut.domain.tools.mcp.mcp_tools import McpFacts
from hibernaut.ports.storage.table import MAX_CHANGES, Change
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.mcp.server import MOST_TOOLS, McpLeftOut, McpRefresh, McpSync, StoredMcpServer
from hibernaut.schemas.tools.tool import StoredTool, ToolType
from hibernaut.services.records import Records, size_of_change
from hibernaut.store.mcp.mcp_servers import McpServerStore

_BYTES = 2_000_000
"""Bytes of one transaction, of which the table takes 4 MB."""


@dataclass
class ToolPlan:
    """What a reading changes. `groups`: changes that belong together; `tools`: the ids of the server's tools by their names
    there.
    """

    token: str
    groups: list[list[Change]] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)
    changed: McpRefresh = field(default_factory=McpRefresh)


class McpSyncs:
    """Writes what a server lists. Each method repeats its work when another request changes the same records."""

    def __init__(self, records: Records, servers: McpServerStore) -> None:
        self._records = records
        self._servers = servers

    def store(self, server_id: str, listing: McpListing, user: str | None = None) -> McpRefresh:
        """Store a listing. Returns what has changed; nothing if the server is deleted meanwhile. Raises: Conflict."""

        def attempt() -> McpRefresh:
            server = self._servers.get(server_id)
            if server is None:
                return McpRefresh()
            plan = self._planned(server, listing, user)
            now = self._records.clock.now()
            sync = McpSync(at=now, tools=len(plan.tools), left_out=plan.changed.left_out)
            after = server.model_copy(update={"tools": plan.tools, "last_sync": sync, "updated_at": now})
            for page in _pages(plan.groups):
                self._records.writer.write(*page, token=plan.token)
            self._records.writer.write(*self._servers.change(server, after, plan.token), token=plan.token)
            return plan.changed

        return self._records.until_settled(attempt)

    def note_failure(self, server_id: str, reason: str) -> None:
        """Note on the record that a server's tools could not be read. Raises: Conflict."""

        def attempt() -> None:
            server = self._servers.get(server_id)
            if server is None:
                return
            now = self._records.clock.now()
            before = server.last_sync.left_out if server.last_sync else []
            sync = McpSync(at=now, tools=len(server.tools), left_out=before, error=reason)
            token = self._records.ids.token()
            after = server.model_copy(update={"last_sync": sync})
            self._records.writer.write(*self._servers.change(server, after, token), token=token)

        self._records.until_settled(attempt)

    def _planned(self, server: StoredMcpServer, listing: McpListing, user: str | None) -> ToolPlan:
        plan = ToolPlan(self._records.ids.token())
        stored = self._records.tools.get_many(list(server.tools.values()))
        current = {name: stored[tool_id] for name, tool_id in server.tools.items() if tool_id in stored}
        listed_tools = {each.name: each for each in listing.tools}
        for name in [name for name in listed_tools if name not in current][max(0, MOST_TOOLS - len(current)) :]:
            plan.changed.left_out.append(McpLeftOut(name=name, reason=f"at most {MOST_TOOLS} tools of a server are stored"))
            del listed_tools[name]
        if listing.more:
            plan.changed.left_out.append(McpLeftOut(name="*", reason="the server has more tools than are read"))
        same_names = self._records.tools.by_name(
            name for each in listed_tools.values() for name in mcp_tools.names_for(each.name, server.server_name)
        )
        for each in listed_tools.values():
            before = current.get(each.name)
            free = _name_for(server, each, same_names) if before is None else (before.name or "", before)
            if free is None:
                plan.changed.left_out.append(McpLeftOut(name=each.name, reason="other tools have the names that it could have"))
                continue
            self._plan(plan, server, each, *free, user=user)
        for name, tool in current.items():
            if name not in listed_tools:
                self._plan_gone(plan, name, tool, possibly_unread=listing.more)
        return plan

    def _plan(
        self,
        plan: ToolPlan,
        server: StoredMcpServer,
        listed: ListedMcpTool,
        name: str,
        before: StoredTool | None,
        *,
        user: str | None,
    ) -> None:
        """Plan the creation of a listed tool, or its change."""
        try:
            schema = mcp_schemas.offered(name, listed.description, listed.schema)
        except NoModelTakes as problem:
            plan.changed.left_out.append(
                McpLeftOut(name=listed.name, reason=f"its schema cannot be offered to a model: {problem}")
            )
            if before is not None:
                plan.tools[listed.name] = before.id
            return
        after = self._tool_of(server, listed, schema, before, user)
        plan.tools[listed.name] = after.id
        if before is None:
            plan.changed.added.append(name)
            plan.groups.append(self._records.tools.create(after, plan.token))
        elif _differs(before, after):
            plan.changed.updated.append(name)
            plan.groups.append(self._records.tools.change(before, after, plan.token))

    def _tool_of(
        self, server: StoredMcpServer, listed: ListedMcpTool, schema: JsonObject, before: StoredTool | None, user: str | None
    ) -> StoredTool:
        facts = McpFacts(server.id, server.server_name, listed.name, mcp_schemas.fingerprint(listed.schema))
        tag = f"{mcp_tools.TAG}{server.server_name}"
        fresh: JsonObject = {
            "tool_type": ToolType.EXTERNAL_MCP,
            "description": schema["description"],
            "json_schema": schema,
            "last_updated_by_id": user,
        }
        if before is not None:
            other_tags = [each for each in before.tags if not each.startswith(mcp_tools.TAG)]
            metadata = {**(before.metadata_ or {}), **facts.metadata()}
            return before.model_copy(update={**fresh, "tags": [tag, *other_tags], "metadata_": metadata})
        return StoredTool(
            **fresh,
            id=self._records.ids.new("tool"),
            name=str(schema["name"]),
            source_type="json",
            tags=[tag],
            metadata_=facts.metadata(),
            default_requires_approval=server.default_requires_approval,
            created_at=self._records.clock.now(),
            created_by_id=user,
        )

    def _plan_gone(self, plan: ToolPlan, name: str, tool: StoredTool, *, possibly_unread: bool) -> None:
        """Plan the outcome for a tool that its server no longer lists: agents keep the tool, and its calls return an error.
        `possibly_unread`: it may be among those that were not read.
        """
        if possibly_unread or self._records.tools.agents_of(tool.id):
            plan.tools[name] = tool.id
            facts = mcp_tools.facts_of(tool)
            if possibly_unread:
                return
            plan.changed.missing.append(tool.name or "")
            if facts.state != "missing":
                metadata = {**(tool.metadata_ or {}), **replace(facts, state="missing").metadata()}
                after = tool.model_copy(update={"metadata_": metadata})
                plan.groups.append(self._records.tools.change(tool, after, plan.token))
            return
        plan.changed.deleted.append(tool.name or "")
        plan.groups.append(self._records.tools.delete(tool))


def _name_for(
    server: StoredMcpServer, listed: ListedMcpTool, same_names: Mapping[str, StoredTool]
) -> tuple[str, StoredTool | None] | None:
    """A name for a new tool, and the tool that it takes over; None if all names belong to other tools."""
    for name in mcp_tools.names_for(listed.name, server.server_name):
        holder = same_names.get(name)
        if holder is None:
            return name, None
        if mcp_tools.is_of(holder, server.id, server.server_name) and mcp_tools.facts_of(holder).tool_name == listed.name:
            return name, holder
    return None


def _differs(before: StoredTool, after: StoredTool) -> bool:
    names = ("tool_type", "description", "json_schema", "tags", "metadata_")
    return any(getattr(before, name) != getattr(after, name) for name in names)


def _pages(groups: Sequence[Sequence[Change]]) -> Iterator[list[Change]]:
    """Transactions of whole groups."""
    page: list[Change] = []
    size = 0
    for group in groups:
        more = sum(size_of_change(change) for change in group)
        if page and (len(page) + len(group) > MAX_CHANGES or size + more > _BYTES):
            yield page
            page, size = [], 0
        page += group
        size += more
    if page:
        yield page
