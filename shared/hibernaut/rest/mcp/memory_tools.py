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
RELATIONS = frozenset({"tags"})
"""The relations of an agent that a list shows."""
TAGGED = "tagged:"
"""Begins the cursors of agents that a key reaches by a tag."""
READING = {"readOnlyHint": True, "openWorldHint": False}


async def list_agents(context: ToolContext, arguments: ListAgents) -> AgentPage:
    """A page of the agents that the key reaches, newest first."""
    principal = context.principal
    if not principal.restricted:
        await context.admit(AGENTS)
        return await context.run(READS, partial(_all_agents, context.services.agents, arguments))
    if principal.kind == "client":
        principal = granted(principal, *AGENT)
    return await context.run(READS, partial(_reached_agents, context.services.agents, principal, arguments))


def _all_agents(agents: Agents, arguments: ListAgents, tags: Sequence[str] = ()) -> AgentPage:
    criteria = AgentFilter(query_text=arguments.name_contains, tags=tags)
    found = agents.list(criteria, Page(arguments.limit + 1, after=arguments.cursor, descending=True), MADE, RELATIONS)
    return _page(found, arguments.limit)


def _reached_agents(agents: Agents, principal: Principal, arguments: ListAgents) -> AgentPage:
    """The agents that a restricted key names by id (at most 50), then the agents with one of its tags. Raises: NotFound for an
    unknown cursor.
    """
    ids, found, cursor = sorted(principal.agent_ids, reverse=True), list[AgentState](), arguments.cursor or ""
    if not cursor.startswith(TAGGED):
        if cursor and cursor not in ids:
            raise no_entry(cursor)
        rest = ids[ids.index(cursor) + 1 :] if cursor else ids
        text = (arguments.name_contains or "").lower()
        found = [agent for agent in agents.some(rest, RELATIONS) if text in agent.name.lower()]
        if len(found) > arguments.limit or not principal.agent_tags:
            return _page(found, arguments.limit)
        if len(found) == arguments.limit:
            return AgentPage(agents=_listed(found), next_cursor=TAGGED)
    remaining = arguments.model_copy(
        update={"limit": arguments.limit - len(found), "cursor": cursor.removeprefix(TAGGED) or None}
    )
    tagged = _all_agents(agents, remaining, tuple(sorted(principal.agent_tags)))
    others = [agent for agent in tagged.agents if agent.id not in principal.agent_ids]
    return AgentPage(agents=[*_listed(found), *others], next_cursor=TAGGED + tagged.next_cursor if tagged.next_cursor else None)


def _page(found: Sequence[AgentState], limit: int) -> AgentPage:
    agents = found[:limit]
    return AgentPage(agents=_listed(agents), next_cursor=agents[-1].id if len(found) > limit else None)


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


async def read_blocks(context: ToolContext, arguments: ReadBlocks) -> BlockPage:
    """A page of an agent's core memory, or the block with one label."""
    await context.admit(BLOCKS, agent_id=arguments.agent_id)
    agents = context.services.agents
    if arguments.label is not None:
        return BlockPage(
            blocks=[_block_text(await context.run(READS, partial(agents.block, arguments.agent_id, arguments.label)))]
        )
    page = Page(arguments.limit + 1, after=arguments.cursor)
    found = await context.run(READS, partial(agents.block_page, arguments.agent_id, page))
    blocks, characters = list[ShownBlock](), 0
    for block in found[: arguments.limit]:
        characters += min(len(block.value), LONGEST_BLOCK)
        if blocks and characters > LONGEST_PAGE:
            break
        blocks.append(_block_text(block))
    return BlockPage(blocks=blocks, next_cursor=blocks[-1].id if len(blocks) < len(found) else None)


def _block_text(block: StoredBlock) -> ShownBlock:
    return ShownBlock(
        id=block.id,
        label=block.label,
        value=cut(block.value, LONGEST_BLOCK),
        description=cut(block.description, LONGEST_NOTE) if block.description else None,
        limit=block.limit,
        read_only=block.read_only,
    )


async def search_memory(context: ToolContext, arguments: SearchMemory) -> MemoryHits:
    """The passages and the messages of an agent that match a query."""
    searches, hits, limits = context.services.searches, MemoryHits(), set[str]()
    for source, route in (("passages", PASSAGES), ("messages", MESSAGES)):
        if source in arguments.sources:
            await context.admit(route, agent_id=arguments.agent_id)
    if "passages" in arguments.sources:
        passage_search = ArchivalSearch(query=arguments.query, top_k=arguments.limit)
        found = await context.run(SEARCHES, partial(searches.of_agent, arguments.agent_id, passage_search))
        hits.passages = [
            FoundPassage(id=hit.id, text=cut(hit.content, LONGEST_HIT), tags=hit.tags, at=hit.timestamp) for hit in found.results
        ]
        limits.update({found.search} if found.search else ())
    if "messages" in arguments.sources:
        message_search = MessageSearch(query=arguments.query, agent_id=arguments.agent_id, limit=arguments.limit)
        messages, limited = await context.run(SEARCHES, partial(searches.messages, message_search))
        hits.messages = [
            FoundMessage(
                id=hit.message_id,
                role="user" if hit.message_type == "user_message" else "assistant",
                text=cut(hit.content, LONGEST_HIT),
                conversation_id=hit.conversation_id,
                at=hit.created_at.isoformat(),
            )
            for hit in messages
        ]
        limits.update({limited} if limited else ())
    hits.incomplete = ", ".join(sorted(limits)) or None
    return hits


async def write_passage(context: ToolContext, arguments: WritePassage) -> WrittenPassage:
    """Write a passage into an agent's archival memory."""
    await context.admit(NEW_PASSAGE, agent_id=arguments.agent_id)
    caller, passage = context.caller, CreatePassage(text=arguments.text, tags=arguments.tags or None)
    create = partial(context.services.passages.create_for, arguments.agent_id, passage, user=caller.user_id, key_id=caller.key_id)
    (created,) = await context.run(WRITES, create)
    return WrittenPassage(id=created.id, archive_id=created.archive_id)


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
