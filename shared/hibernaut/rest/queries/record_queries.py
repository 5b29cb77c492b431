"""The query strings of the lists of agents, blocks, archives, tools and tags (Letta V1 API, API 1.5, 2.2, 2.9, 2.10 and 2.15).

The methods `page`, `filter`, `relations` and `query` return the arguments of the use cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from hibernaut.domain.wire.listing import Page
from hibernaut.rest.dependencies import Caller
from hibernaut.schemas.access.access_token import MOST_TOKENS_LISTED
from hibernaut.schemas.agents.group import ManagerType
from hibernaut.schemas.base import Schema, Whole
from hibernaut.schemas.events.webhook import DeliveryState, EventId
from hibernaut.schemas.ids import AgentId
from hibernaut.schemas.models.provider import ProviderType
from hibernaut.schemas.stop import StopReason
from hibernaut.services.agents.agent_states import shown_relations
from hibernaut.services.agents.agents import AgentFilter
from hibernaut.services.groups.groups import GroupFilter
from hibernaut.services.memory.blocks import BlockFilter
from hibernaut.services.memory.passages import PassageList
from hibernaut.services.tools.tools import ToolFilter

Order = Literal["asc", "desc"]
AgentOrder = Literal["created_at", "updated_at", "last_run_completion"]
MOST_AGENTS_NAMED = 200
"""The largest number of ids in a request for agents by id."""
LABEL_PATTERN = "^[a-zA-Z0-9_/-]+$"


class _List(Schema):
    before: str | None = None
    after: str | None = None
    limit: Whole = Field(default=50, ge=0)
    order: Order = "desc"

    def page(self) -> Page:
        return Page(limit=self.limit, before=self.before, after=self.after, descending=self.order == "desc")


class _Relations(Schema):
    """The relations of an agent that a reply shows."""

    include: list[str] | None = None
    include_relationships: list[str] | None = None

    def relations(self, caller: Caller) -> frozenset[str]:
        return shown_relations(caller.is_1_0_client, self.include, self.include_relationships, reads_secrets=caller.reads_secrets)


class AgentRelations(_Relations):
    """The query of one agent. A client that writes back what it reads gets all relations: Letta Code 0.25 adds its own tools and
    tags to those of an agent that it has read without `include`, and sets the sum. Empty lists would cost the agent its other
    tools at each start.
    """

    def relations(self, caller: Caller) -> frozenset[str]:
        """The relations and values that the reply to this caller shows."""
        chooses = caller.is_1_0_client and not caller.writes_back
        return shown_relations(chooses, self.include, self.include_relationships, reads_secrets=caller.reads_secrets)


class _AgentChoice(Schema):
    """A filter of agents. `show_hidden_agents`: include hidden agents."""

    name: str | None = None
    tags: list[str] | None = None
    match_all_tags: bool = False
    query_text: str | None = None
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    identity_id: str | None = None
    identifier_keys: list[str] | None = None
    last_stop_reason: StopReason | None = None
    created_by_id: str | None = None
    show_hidden_agents: bool = False

    def filter(self) -> AgentFilter:
        return AgentFilter(
            name=self.name,
            tags=self.tags or (),
            match_all_tags=self.match_all_tags,
            query_text=self.query_text,
            project_id=self.project_id,
            template_id=self.template_id,
            base_template_id=self.base_template_id,
            identity_id=self.identity_id,
            identifier_keys=self.identifier_keys or (),
            last_stop_reason=self.last_stop_reason,
            created_by_id=self.created_by_id,
            hidden=self.show_hidden_agents,
        )


class AgentCount(_AgentChoice):
    """The filter of a count of agents."""


class AgentList(_List, _Relations, _AgentChoice):
    """A page of agents. `ascending` and `sort_by` are deprecated forms of `order` and `order_by`.

    `agent_ids`, an addition to V1: the agents with these ids, hidden ones too, in this order and whatever the other filters say.
    """

    agent_ids: list[AgentId] | None = Field(default=None, max_length=MOST_AGENTS_NAMED)
    order_by: AgentOrder = "created_at"
    ascending: bool | None = None
    sort_by: AgentOrder | None = None

    def page(self) -> Page:
        """The page. An unknown cursor is ignored in this list only (API 1.5)."""
        descending = self.order == "desc" if self.ascending is None else not self.ascending
        return Page(limit=self.limit, before=self.before, after=self.after, descending=descending, lost="ignored")


class BlockAgentList(_List, _Relations):
    """A page of the agents that a block is attached to."""


class BlockList(_List):
    """A page of blocks, oldest first. `connected_to_agents_count_…`: the number of agents that a block is attached to."""

    order: Order = "asc"
    label: str | None = Field(default=None, pattern=LABEL_PATTERN)
    templates_only: bool = False
    name: str | None = None
    identity_id: str | None = None
    identifier_keys: list[str] | None = None
    project_id: str | None = None
    tags: list[str] | None = None
    match_all_tags: bool = False
    label_search: str | None = None
    description_search: str | None = None
    value_search: str | None = None
    connected_to_agents_count_gt: Whole | None = None
    connected_to_agents_count_lt: Whole | None = None
    connected_to_agents_count_eq: list[Whole] | None = None
    show_hidden_blocks: bool = False

    def filter(self) -> BlockFilter:
        return BlockFilter(
            label=self.label,
            name=self.name,
            templates_only=self.templates_only,
            identity_id=self.identity_id,
            identifier_keys=self.identifier_keys or (),
            project_id=self.project_id,
            tags=self.tags or (),
            match_all_tags=self.match_all_tags,
            label_search=self.label_search,
            description_search=self.description_search,
            value_search=self.value_search,
            connected_gt=self.connected_to_agents_count_gt,
            connected_lt=self.connected_to_agents_count_lt,
            connected_eq=self.connected_to_agents_count_eq or (),
            hidden=self.show_hidden_blocks,
        )


class ApiKeyList(Schema):
    """A page of API keys, oldest first. `after`: the id of the last key of the page before."""

    after: str | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class AccessTokenList(Schema):
    """A page of client-side access tokens, oldest first."""

    agent_id: str | None = Field(default=None, alias="agentId")
    limit: int = Field(default=10, ge=1, le=MOST_TOKENS_LISTED)
    offset: int = Field(default=0, ge=0, le=2**31 - 1)


class BudgetList(Schema):
    """A page of budgets in the order of their subjects. `after`: the subject of the last budget of the page before."""

    after: str | None = None
    limit: int = Field(default=50, ge=1, le=100)


class DeliveryList(Schema):
    """A page of deliveries, newest event first. `after`: the event of the last delivery of the page before."""

    after: EventId | None = None
    state: DeliveryState | None = None
    limit: int = Field(default=50, ge=1, le=200)


class ArchiveList(_List):
    """A page of archives, newest first. `name` must match the whole name."""

    name: str | None = None
    agent_id: str | None = None


class GroupList(_List):
    """A page of groups, oldest first. `show_hidden_groups`: include hidden groups."""

    order: Order = "asc"
    manager_type: ManagerType | None = None
    project_id: str | None = None
    show_hidden_groups: bool | None = None

    def filter(self) -> GroupFilter:
        return GroupFilter(self.manager_type, self.project_id, hidden=bool(self.show_hidden_groups))


class AgentGroupList(_List):
    """A page of the groups that an agent is in, of ten by default."""

    limit: Whole = Field(default=10, ge=0)
    manager_type: ManagerType | None = None

    def filter(self) -> GroupFilter:
        return GroupFilter(self.manager_type, hidden=True)


class ProviderList(_List):
    """A page of providers, newest first. `name` must match the whole name."""

    name: str | None = None
    provider_type: ProviderType | None = None


class AgentPassageList(Schema):
    """A page of an agent's archival memory, oldest first. `search`: a part of the text, regardless of case."""

    after: str | None = None
    before: str | None = None
    limit: int = Field(default=100, ge=0, le=10_000)
    search: str | None = None
    ascending: bool = True

    def query(self) -> PassageList:
        return PassageList(self.after, self.before, self.limit, self.search, self.ascending)


class ToolCount(Schema):
    """The filter of a count of tools. A list may be sent as repeated keys or as one text with commas."""

    name: str | None = None
    names: list[str] | None = None
    tool_ids: list[str] | None = None
    search: str | None = None
    tool_types: list[str] | None = None
    exclude_tool_types: list[str] | None = None
    return_only_letta_tools: bool = False

    def filter(self) -> ToolFilter:
        return ToolFilter(
            name=self.name,
            names=_parts(self.names),
            tool_ids=_parts(self.tool_ids),
            search=self.search,
            tool_types=_parts(self.tool_types),
            exclude_tool_types=_parts(self.exclude_tool_types),
            return_only_letta_tools=self.return_only_letta_tools,
        )


class ToolList(_List, ToolCount):
    """A page of tools, newest first."""


class AgentBlockList(_List):
    """A page of an agent's blocks, ordered by id."""

    limit: Whole = Field(default=100, ge=0)


class AgentToolList(_List):
    """A page of an agent's tools, of ten by default."""

    limit: Whole = Field(default=10, ge=0)


class TagList(_List):
    """A page of tags in alphabetical order. `query_text` is the deprecated form of `name`."""

    order: Order = "asc"
    name: str | None = None
    query_text: str | None = None


def _parts(values: Sequence[str] | None) -> list[str]:
    return [part for value in values or () for text in value.split(",") if (part := text.strip())]


AgentRelationsQuery = Annotated[AgentRelations, Query()]
AgentCountQuery = Annotated[AgentCount, Query()]
AgentListQuery = Annotated[AgentList, Query()]
BlockAgentListQuery = Annotated[BlockAgentList, Query()]
BlockListQuery = Annotated[BlockList, Query()]
ApiKeyListQuery = Annotated[ApiKeyList, Query()]
AccessTokenListQuery = Annotated[AccessTokenList, Query()]
BudgetListQuery = Annotated[BudgetList, Query()]
DeliveryListQuery = Annotated[DeliveryList, Query()]
GroupListQuery = Annotated[GroupList, Query()]
AgentGroupListQuery = Annotated[AgentGroupList, Query()]
ProviderListQuery = Annotated[ProviderList, Query()]
ArchiveListQuery = Annotated[ArchiveList, Query()]
AgentPassageListQuery = Annotated[AgentPassageList, Query()]
ToolCountQuery = Annotated[ToolCount, Query()]
ToolListQuery = Annotated[ToolList, Query()]
AgentBlockListQuery = Annotated[AgentBlockList, Query()]
AgentToolListQuery = Annotated[AgentToolList, Query()]
TagListQuery = Annotated[TagList, Query()]
