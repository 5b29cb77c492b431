"""Agents: find, list, count and delete them. Creation and updates have modules of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from hibernaut.domain.wire.listing import Page, page
from hibernaut.ports.storage.table import Item
from hibernaut.schemas.agents.agent import AgentState
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.services.agent_marking import AgentMarking
from hibernaut.services.agents.agent_creation import AgentCreation
from hibernaut.services.agents.agent_deletion import AgentDeletion
from hibernaut.services.agents.agent_states import LOADED, AgentStates
from hibernaut.services.agents.agent_updates import AgentUpdates
from hibernaut.services.agents.agent_windows import AgentWindows
from hibernaut.services.prompt.file_views import FileViews
from hibernaut.services.records import Records, by_key
from hibernaut.store.agents.agent_marks import Facet
from hibernaut.store.agents.agents import tags_of
from hibernaut.store.agents.last_runs import LastRuns
from hibernaut.store.table.lists.row_lists import RowList

MADE, CHANGED, RAN = "created_at", "updated_at", "last_run_completion"
"""The default order of lists. Ids sort by creation time, so it is the order of ids too."""


@immutable
class AgentFilter:
    """The filter of a list of agents (Letta V1 API, API 2.2). `hidden`: include hidden agents.

    `identifier_keys` names identities by their keys. Where rows are filtered, `identity_ids` has the ids of these identities, of
    which an agent must have at least one.
    """

    name: str | None = None
    tags: Sequence[str] = ()
    match_all_tags: bool = False
    query_text: str | None = None
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    identity_id: str | None = None
    identifier_keys: Sequence[str] = ()
    identity_ids: Sequence[str] = ()
    last_stop_reason: str | None = None
    created_by_id: str | None = None
    hidden: bool = False

    @property
    def criteria(self) -> int:
        """The number of criteria besides `hidden`."""
        exact = (self.name, self.project_id, self.template_id, self.base_template_id, self.identity_id)
        other = (
            self.last_stop_reason,
            self.created_by_id,
            self.query_text or None,
            self.tags or None,
            self.identifier_keys or None,
        )
        return sum(criterion is not None for criterion in (*exact, *other))

    def mark(self) -> tuple[Facet, Sequence[str]] | None:
        """The marks that all matching agents have (at least one of them, if there are several). None: rows must be read."""
        facets: tuple[tuple[Facet, str | None], ...] = (
            ("NAME", self.name),
            ("IDENTITY", self.identity_id),
            ("TEMPLATE", self.template_id),
            ("BASE", self.base_template_id),
            ("PROJECT", self.project_id),
        )
        for facet, text in facets:
            if text:
                return facet, [text]
        if self.identity_ids:
            return "IDENTITY", self.identity_ids
        if not self.tags:
            return None
        return "TAG", self.tags[:1] if self.match_all_tags else self.tags

    def among(self, rows: Sequence[Item], runs: LastRuns) -> list[Item]:
        """The list rows that pass the filter. Their newest runs are looked up if the filter names one."""
        return [row for row in (rows if self.last_stop_reason is None else runs.joined(rows)) if self.admits(row)]

    def admits(self, row: Item) -> bool:
        """Whether a list row passes the filter. `last_stop_reason` needs the row joined with the newest run."""
        if row["hidden"] and not self.hidden:
            return False
        exact = {
            "name": self.name,
            "project_id": self.project_id,
            "template_id": self.template_id,
            "base_template_id": self.base_template_id,
            "last_stop_reason": self.last_stop_reason,
            "created_by_id": self.created_by_id,
        }
        if any(expected is not None and row.get(name, "") != expected for name, expected in exact.items()):
            return False
        if self.query_text and self.query_text.lower() not in str(row["name"]).lower():
            return False
        if not identities_match(row, self.identity_id, self.identity_ids):
            return False
        return tags_match(row, self.tags, every=self.match_all_tags)


def tags_match(row: Item, filter_tags: Sequence[str], *, every: bool) -> bool:
    """Whether a list row has at least one of the tags (`every`: all of them). Without tags every row matches."""
    if not filter_tags:
        return True
    tags = tags_of(row)
    return set(filter_tags) <= tags if every else not tags.isdisjoint(filter_tags)


def identities_match(row: Item, identity_id: str | None, some_of: Sequence[str]) -> bool:
    """Whether a list row has the identity, and at least one of the others. Without them every row matches."""
    if identity_id is None and not some_of:
        return True
    identity_ids_of_row = set(json.loads(str(row["identity_ids"])))
    return (identity_id is None or identity_id in identity_ids_of_row) and (
        not some_of or not identity_ids_of_row.isdisjoint(some_of)
    )


def linked(records: Records, links: RowList, page: Page) -> list[str]:
    """The ids of a page of the linked agents. A link to a deleted agent is left out."""

    def existing(found: Sequence[Item]) -> list[Item]:
        rows = records.agents.rows_of([links.id_of(link) for link in found])
        return [link for link in found if "name" in rows.get(links.id_of(link), {})]

    return [links.id_of(link) for link in links.page(page, existing)]


class Agents:
    """The use cases of agents: find, list, count, delete. `creation`, `updates` and `windows` are the parts that write."""

    def __init__(
        self,
        records: Records,
        files: FileViews,
        *,
        creation: AgentCreation,
        updates: AgentUpdates,
        windows: AgentWindows,
        deletion: AgentDeletion,
    ) -> None:
        self._records = records
        self._deletion = deletion
        self._marking = AgentMarking(records)
        self.creation = creation
        self.updates = updates
        self.windows = windows
        self.states = AgentStates(records, files)

    def retrieve(self, agent_id: str, include: frozenset[str] = LOADED) -> AgentState:
        """The state of an agent. Raises: NotFound."""
        return self.states.of_one(self._records.agent(agent_id), include)

    def check(self, agent_id: str) -> None:
        """Raises: NotFound if the agent does not exist."""
        self._records.agent(agent_id)

    def list(self, filters: AgentFilter, page_query: Page, order_by: str, include: frozenset[str]) -> Sequence[AgentState]:
        """A page of the agents that pass the filter. `order_by` is a field of the list row: created_at, updated_at,
        last_run_completion.

        Raises: NotFound for a cursor.
        """

        resolved = self._resolved(filters)
        if resolved is None:
            return []
        filters, agents, mark = resolved, self._records.agents, resolved.mark()

        def select(rows: Sequence[Item]) -> Sequence[Item]:
            return filters.among(rows if order_by != RAN else agents.last_runs.joined(rows), agents.last_runs)

        rows: Sequence[Item]
        if mark is None and order_by == MADE:
            rows = agents.listed().page(page_query, select)
        elif not self._marking.is_complete():
            rows = page(select(agents.rows()), page_query, id_of=_id, place=lambda row: str(row.get(order_by, "")))
        elif mark is None:
            rows = (agents.by_update() if order_by == CHANGED else agents.by_last_run()).page(page_query, select)
        elif order_by == MADE:
            rows = self._records.agent_marks.bearers(*mark).page(page_query, lambda marks: select(agents.rows_marked(marks)))
        else:
            rows = select(agents.rows_marked(self._records.agent_marks.bearers(*mark).all()))
            rows = page(rows, page_query, id_of=_id, place=lambda row: str(row.get(order_by, "")))
        return self.some([_id(row) for row in rows], include)

    def _resolved(self, filters: AgentFilter) -> AgentFilter | None:
        """The filter with the ids of the identities that it names by key; None if there is none, so that no agent passes."""
        if not filters.identifier_keys:
            return filters
        identity_ids = self._records.identities.with_keys(filters.identifier_keys)
        return replace(filters, identity_ids=identity_ids) if identity_ids else None

    def some(self, agent_ids: Sequence[str], include: frozenset[str]) -> Sequence[AgentState]:
        """The states of the existing agents among these ids, in their order."""
        agents = self._records.agents.get_many(agent_ids)
        return self.states.of([agents[agent_id] for agent_id in agent_ids if agent_id in agents], include)

    def using_block(self, block_id: str, page: Page, include: frozenset[str]) -> Sequence[AgentState]:
        """A page of the agents that a block is attached to. Raises: NotFound."""
        self._records.block(block_id)
        return self.among(self._records.blocks.links(block_id), page, include)

    def of_identity(self, identity_id: str, page: Page, include: frozenset[str]) -> Sequence[AgentState]:
        """A page of the agents of an identity, hidden ones too, by creation time. Raises: NotFound for the identity or a
        cursor.
        """
        self._records.identity(identity_id)
        return self.list(AgentFilter(identity_id=identity_id, hidden=True), page, MADE, include)

    def among(self, links: RowList, page: Page, include: frozenset[str]) -> Sequence[AgentState]:
        """A page of the existing agents among the linked ones, by creation time."""
        return self.some(linked(self._records, links, page), include)

    def count(self, filters: AgentFilter) -> int:
        """The number of agents that pass the filter. Without criteria, or with one that has marks, the engine counts."""
        resolved = self._resolved(filters)
        if resolved is None:
            return 0
        filters, agents, mark = resolved, self._records.agents, resolved.mark()
        if filters.criteria == 0:
            return agents.count(hidden=filters.hidden)
        if mark is None or not self._marking.is_complete():
            return len(filters.among(agents.rows(), agents.last_runs))
        facet, texts = mark
        if filters.criteria == len(texts) == 1:
            return self._records.agent_marks.count(facet, texts[0], hidden=filters.hidden)
        rows = agents.rows_marked(self._records.agent_marks.bearers(facet, texts).all())
        return len(filters.among(rows, agents.last_runs))

    def tags(self, text: str | None, page_query: Page) -> Sequence[str]:
        """A page of the distinct tags of all agents, in alphabetical order; `text`: only tags that contain it, in any case.

        A tag is its own cursor.
        """

        def admits(tag: str) -> bool:
            return text is None or text.lower() in tag.lower()

        if self._marking.is_complete():
            return self._records.agent_marks.tags(page_query, admits)
        tags = {tag for row in self._records.agents.rows() for tag in json.loads(str(row["tags"])) if admits(tag)}
        return page(sorted(tags), page_query, id_of=lambda tag: tag, place=lambda tag: tag)

    def blocks(self, agent_id: str) -> Sequence[StoredBlock]:
        """The agent's blocks in the order of attachment. Raises: NotFound."""
        return self._records.blocks_of(self._records.agent(agent_id))

    def block(self, agent_id: str, label: str) -> StoredBlock:
        """The agent's block with this label. Raises: NotFound."""
        for block in self.blocks(agent_id):
            if block.label == label:
                return block
        raise NotFound(f"No block with label '{label}' found for agent '{agent_id}'")

    def block_page(self, agent_id: str, page_query: Page) -> Sequence[StoredBlock]:
        """A page of the agent's blocks, ordered by id. Raises: NotFound."""
        return page(self.blocks(agent_id), page_query, id_of=lambda block: block.id, place=lambda block: block.id)

    def tool_page(self, agent_id: str, page_query: Page) -> Sequence[StoredTool]:
        """A page of the agent's tools, ordered by creation time. Raises: NotFound."""
        tools = self._records.tools_of(self._records.agent(agent_id))
        return page(tools, page_query, id_of=lambda tool: tool.id, place=lambda tool: str(tool.created_at or ""))

    def delete(self, agent_id: str, *, key_id: str | None = None) -> None:
        """Delete an agent with all records under it. A second call resumes an interrupted deletion. `key_id`: the caller's API
        key.

        Raises: NotFound, Conflict.
        """
        self._deletion.delete(agent_id, by_key(key_id))


def _id(row: Item) -> str:
    return str(row["sk"])
