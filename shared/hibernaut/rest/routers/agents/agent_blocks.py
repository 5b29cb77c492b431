"""The core memory of one agent (Letta V1 API, API 2.5)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import AgentBlockListQuery
from hibernaut.schemas.agents.agent import AgentState
from hibernaut.schemas.ids import AgentId, BlockId
from hibernaut.schemas.memory.block import Block, BlockUpdate

router = APIRouter(prefix="/v1/agents/{agent_id}/core-memory/blocks", tags=["agents"], route_class=LazyRoute)


@router.get("", response_model=list[Block])
def list_agent_blocks(services: TheServices, agent_id: AgentId, query: AgentBlockListQuery) -> Response:
    """A page of the agent's blocks."""
    return replies(block.wire() for block in services.agents.block_page(agent_id, query.page()))


@router.patch("/attach/{block_id}", response_model=AgentState)
def attach_block(services: TheServices, caller: TheCaller, agent_id: AgentId, block_id: BlockId) -> Response:
    """Attach a block. All agents that a block is attached to share it."""
    agent = services.agents.updates.attach_block(agent_id, block_id, user=caller.user_id, key_id=caller.key_id)
    return reply(services.agents.states.of_one(agent))


@router.patch("/detach/{block_id}", response_model=AgentState)
def detach_block(services: TheServices, caller: TheCaller, agent_id: AgentId, block_id: BlockId) -> Response:
    """Detach a block. The block itself remains."""
    agent = services.agents.updates.detach_block(agent_id, block_id, user=caller.user_id, key_id=caller.key_id)
    return reply(services.agents.states.of_one(agent))


# A label may contain slashes, so the parameter takes the rest of the path.
@router.get("/{block_label:path}", response_model=Block)
def retrieve_agent_block(services: TheServices, agent_id: AgentId, block_label: str) -> Response:
    """The agent's block with this label."""
    return reply(services.agents.block(agent_id, block_label).wire())


@router.patch("/{block_label:path}", response_model=Block)
def update_agent_block(
    services: TheServices, caller: TheCaller, agent_id: AgentId, block_label: str, request: BlockUpdate
) -> Response:
    """Change the agent's block with this label."""
    block = services.agents.block(agent_id, block_label)
    changed = services.blocks.update(
        block.id, request, user=caller.user_id, agent_id=agent_id, key_id=caller.key_id, of_tool=caller.of_tool
    )
    return reply(changed.wire())
