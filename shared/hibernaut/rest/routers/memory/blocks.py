"""Blocks (Letta V1 API, API 2.10 and 3)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import BlockAgentListQuery, BlockListQuery
from hibernaut.schemas.agents.agent import AgentState
from hibernaut.schemas.ids import BlockId
from hibernaut.schemas.memory.block import Block, BlockUpdate, CreateBlock

router = APIRouter(prefix="/v1/blocks", tags=["blocks"], route_class=LazyRoute)


@router.post("", response_model=Block)
def create_block(services: TheServices, caller: TheCaller, request: CreateBlock) -> Response:
    """Create a block, which is attached to no agent."""
    return reply(services.blocks.create(request, key_id=caller.key_id).wire())


@router.get("", response_model=list[Block])
def list_blocks(services: TheServices, query: BlockListQuery) -> Response:
    """A page of blocks."""
    return replies(block.wire() for block in services.blocks.list(query.filter(), query.page()))


@router.get("/count", response_model=int)
def count_blocks(services: TheServices) -> Response:
    """The number of blocks."""
    return plain(services.blocks.count())


@router.get("/{block_id}", response_model=Block)
def retrieve_block(services: TheServices, block_id: BlockId) -> Response:
    """One block."""
    return reply(services.blocks.retrieve(block_id).wire())


@router.patch("/{block_id}", response_model=Block)
def update_block(services: TheServices, caller: TheCaller, block_id: BlockId, request: BlockUpdate) -> Response:
    """Change the fields that the request sets. A null changes nothing."""
    changed = services.blocks.update(block_id, request, user=caller.user_id, key_id=caller.key_id, of_tool=caller.of_tool)
    return reply(changed.wire())


@router.delete("/{block_id}")
def delete_block(services: TheServices, caller: TheCaller, block_id: BlockId) -> Response:
    """Delete the block. It is detached from all agents. Its versions remain until they expire."""
    services.blocks.delete(block_id, key_id=caller.key_id)
    return plain(None)


@router.get("/{block_id}/agents", response_model=list[AgentState])
def list_block_agents(services: TheServices, caller: TheCaller, block_id: BlockId, query: BlockAgentListQuery) -> Response:
    """A page of the agents that the block is attached to."""
    relations = query.relations(caller)
    return replies(services.agents.using_block(block_id, query.page(), relations))
