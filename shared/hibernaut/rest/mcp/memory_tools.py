"""The tools on agents and their memory: list_agents, read_blocks, search_memory, write_passage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hibernaut.domain.wire.listing import Page, no_entry
from hibernaut.rest.access.client_rights import granted
from hibernaut.rest.http.lanes import READS, SEARCHES, WRITES
from hibernaut.rest.mcp.forms import (
    LONGEST_BLOCK,
    LONGEST_HIT,
    LONGEST_NOTE,
    LONGEST_PAGE,
    AgentPage,
    BlockPage,
    FoundMessage,
    FoundPassage,
    ListAgents,
    ListedAgent,
    MemoryHits,
    ReadBlocks,
    SearchMemory,
    ShownBlock,
    WritePassage,
    WrittenPassage,
    cut,
)
from hibernaut.rest.mcp.tool import AgentTool, Route, ToolContext
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.agents.agent import AgentState
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.passage import CreatePassage
from hibernaut.schemas.memory.searches import ArchivalSearch, MessageSearch
from hibernaut.services.agents.agents import MADE, AgentFilter, Agents

AGENTS: Route = ("GET", "/v1/agents")
AGENT: Route = ("GET", "/v1/agents/{agent_id}")
BLOCKS: Route = ("GET", "/v1/agents/{agent_id}/core-memory/blocks")
PASSAGES: Route = ("GET", "/v1/agents/{agent_id}/archival-memory/search")
MESSAGES: Route = ("GET", "/v1/agents/{agent_id}/messages")
NEW_PASSAGE: Route = ("POST", "/v1/agents/{agent_id}/archival-memory")
SHOWN = frozenset({"tags"})
"""The relations of an agent that a list shows."""
TAGGED = "tagged:"
"""Begins the cursors of agents that a key reaches by a tag."""
READING = {"readOnlyHint": True, "openWorldHint": False}


async def list_agents(context: ToolContext, asked: ListAgents) -> AgentPage:
    """A page of the agents that the key reaches, newest first."""
    principal = context.principal
    if not principal.restricted:
        await context.admit(AGENTS)
        return await context.run(READS, partial(_all_agents, context.services.agents, asked))
    if principal.kind == "client":
        principal = granted(principal, *AGENT)
    return await context.run(READS, partial(_reached_agents, context.services.agents, principal, asked))


def _all_agents(agents: Agents, asked: ListAgents, tags: Sequence[str] = ()) -> AgentPage:
    wanted = AgentFilter(query_text=asked.name_contains, tags=tags)
    found = agents.list(wanted, Page(asked.limit + 1, after=asked.cursor, descending=True), MADE, SHOWN)
    return _page(found, asked.limit)


def _reached_agents(agents: Agents, principal: Principal, asked: ListAgents) -> AgentPage:
    """The agents that a restricted key names by id, at most 50 of them, then those that have one of its tags. Raises: NotFound for a cursor."""
    named, found, cursor = sorted(principal.agent_ids, reverse=True), list[AgentState](), asked.cursor or ""
    if not cursor.startswith(TAGGED):
        if cursor and cursor not in named:
            raise no_entry(cursor)
        rest = named[named.index(cursor) + 1 :] if cursor else named
        text = (asked.name_contains or "").lower()
        found = [agent for agent in agents.some(rest, SHOWN) if text in agent.name.lower()]
        if len(found) > asked.limit or not principal.agent_tags:
            return _page(found, asked.limit)
        if len(found) == asked.limit:
            return AgentPage(agents=_listed(found), next_cursor=TAGGED)
    left = asked.model_copy(update={"limit": asked.limit - len(found), "cursor": cursor.removeprefix(TAGGED) or None})
    tagged = _all_agents(agents, left, tuple(sorted(principal.agent_tags)))
    others = [agent for agent in tagged.agents if agent.id not in principal.agent_ids]
    return AgentPage(agents=[*_listed(found), *others], next_cursor=TAGGED + tagged.next_cursor if tagged.next_cursor else None)


def _page(found: Sequence[AgentState], limit: int) -> AgentPage:
    shown = found[:limit]
    return AgentPage(agents=_listed(shown), next_cursor=shown[-1].id if len(found) > limit else None)


def _listed(agents: Sequence[AgentState]) -> list[ListedAgent]:
    return [
        ListedAgent(
            id=agent.id,
            name=agent.name,
            description=cut(agent.description, LONGEST_NOTE) if agent.description else None,
            model=agent.model,
            tags=[*agent.tags],
        )
        for agent in agents
    ]


async def read_blocks(context: ToolContext, asked: ReadBlocks) -> BlockPage:
    """A page of an agent's core memory, or the block with one label."""
    await context.admit(BLOCKS, agent_id=asked.agent_id)
    agents = context.services.agents
    if asked.label is not None:
        return BlockPage(blocks=[_shown(await context.run(READS, partial(agents.block, asked.agent_id, asked.label)))])
    page = Page(asked.limit + 1, after=asked.cursor)
    found = await context.run(READS, partial(agents.block_page, asked.agent_id, page))
    shown, characters = list[ShownBlock](), 0
    for block in found[: asked.limit]:
        characters += min(len(block.value), LONGEST_BLOCK)
        if shown and characters > LONGEST_PAGE:
            break
        shown.append(_shown(block))
    return BlockPage(blocks=shown, next_cursor=shown[-1].id if len(shown) < len(found) else None)


def _shown(block: StoredBlock) -> ShownBlock:
    return ShownBlock(
        id=block.id,
        label=block.label,
        value=cut(block.value, LONGEST_BLOCK),
        description=cut(block.description, LONGEST_NOTE) if block.description else None,
        limit=block.limit,
        read_only=block.read_only,
    )


async def search_memory(context: ToolContext, asked: SearchMemory) -> MemoryHits:
    """The passages and the messages of an agent that match a query."""
    searches, hits, limits = context.services.searches, MemoryHits(), set[str]()
    for source, route in (("passages", PASSAGES), ("messages", MESSAGES)):
        if source in asked.sources:
            await context.admit(route, agent_id=asked.agent_id)
    if "passages" in asked.sources:
        wanted = ArchivalSearch(query=asked.query, top_k=asked.limit)
        found = await context.run(SEARCHES, partial(searches.of_agent, asked.agent_id, wanted))
        hits.passages = [
            FoundPassage(id=hit.id, text=cut(hit.content, LONGEST_HIT), tags=hit.tags, at=hit.timestamp) for hit in found.results
        ]
        limits.update({found.search} if found.search else ())
    if "messages" in asked.sources:
        named = MessageSearch(query=asked.query, agent_id=asked.agent_id, limit=asked.limit)
        said, limited = await context.run(SEARCHES, partial(searches.messages, named))
        hits.messages = [
            FoundMessage(
                id=hit.message_id,
                role="user" if hit.message_type == "user_message" else "assistant",
                text=cut(hit.content, LONGEST_HIT),
                conversation_id=hit.conversation_id,
                at=hit.created_at.isoformat(),
            )
            for hit in said
        ]
        limits.update({limited} if limited else ())
    hits.incomplete = ", ".join(sorted(limits)) or None
    return hits


async def write_passage(context: ToolContext, asked: WritePassage) -> WrittenPassage:
    """Write a passage into an agent's archival memory."""
    await context.admit(NEW_PASSAGE, agent_id=asked.agent_id)
    caller, given = context.caller, CreatePassage(text=asked.text, tags=asked.tags or None)
    create = partial(context.services.passages.create_for, asked.agent_id, given, user=caller.user_id, key_id=caller.key_id)
    (made,) = await context.run(WRITES, create)
    return WrittenPassage(id=made.id, archive_id=made.archive_id)


TOOLS = (
    AgentTool(
        name="list_agents",
        title="List agents",
        description="Lists the agents of this server that you may use, newest first, with their ids. Begin here.",
        arguments=ListAgents,
        result=AgentPage,
        routes=(AGENTS, AGENT),
        run=list_agents,
        hints=READING,
    ),
    AgentTool(
        name="read_blocks",
        title="Read core memory",
        description="Reads the blocks of an agent's core memory: what the agent always has in mind, such as who it is and whom it talks to.",
        arguments=ReadBlocks,
        result=BlockPage,
        routes=(BLOCKS,),
        run=read_blocks,
        hints=READING,
    ),
    AgentTool(
        name="search_memory",
        title="Search memory",
        description="Searches what an agent has stored (passages of its archival memory) and what was said to it and by it (messages), by meaning and by words.",
        arguments=SearchMemory,
        result=MemoryHits,
        routes=(PASSAGES, MESSAGES),
        run=search_memory,
        hints=READING,
    ),
    AgentTool(
        name="write_passage",
        title="Write to archival memory",
        description="Writes a text into an agent's archival memory, where the agent finds it by search. The agent is not told of it.",
        arguments=WritePassage,
        result=WrittenPassage,
        routes=(NEW_PASSAGE,),
        run=write_passage,
        hints={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False},
    ),
)
