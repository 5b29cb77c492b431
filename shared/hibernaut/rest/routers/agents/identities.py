"""Identities, and attaching them to agents and blocks (Letta V1 API, API 2.7 and 3)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.identity_queries import IdentityBlockListQuery, IdentityListQuery, IdentityRelationsQuery
from hibernaut.rest.queries.record_queries import BlockAgentListQuery
from hibernaut.schemas.agents.agent import AgentState
from hibernaut.schemas.agents.identity import CreateIdentity, Identity, NewProperties, UpdateIdentity
from hibernaut.schemas.ids import AgentId, BlockId
from hibernaut.schemas.memory.block import Block

router = APIRouter(prefix="/v1", tags=["identities"], route_class=LazyRoute)


@router.post("/identities", response_model=Identity)
def create_identity(services: TheServices, caller: TheCaller, request: CreateIdentity, query: IdentityRelationsQuery) -> Response:
    """Create an identity, and attach it to the agents and blocks that the request names."""
    return reply(services.identities.create(request, query.relations(caller), key_id=caller.key_id))


@router.put("/identities", response_model=Identity)
def upsert_identity(services: TheServices, caller: TheCaller, request: CreateIdentity, query: IdentityRelationsQuery) -> Response:
    """Create an identity, or change the one that has the key in the project."""
    return reply(services.identities.upsert(request, query.relations(caller), key_id=caller.key_id))


@router.get("/identities", response_model=list[Identity])
def list_identities(services: TheServices, caller: TheCaller, query: IdentityListQuery) -> Response:
    """A page of identities."""
    return replies(services.identities.list(query.filter(), query.page(), query.relations(caller)))


@router.get("/identities/count", response_model=int)
def count_identities(services: TheServices) -> Response:
    """The number of identities."""
    return plain(services.identities.count())


@router.get("/identities/{identity_id}", response_model=Identity)
def retrieve_identity(services: TheServices, caller: TheCaller, identity_id: str, query: IdentityRelationsQuery) -> Response:
    """One identity."""
    return reply(services.identities.get(identity_id, query.relations(caller)))


@router.patch("/identities/{identity_id}", response_model=Identity)
def update_identity(
    services: TheServices, caller: TheCaller, identity_id: str, request: UpdateIdentity, query: IdentityRelationsQuery
) -> Response:
    """Change the fields that the request sets. Properties, agents and blocks are added."""
    return reply(services.identities.update(identity_id, request, query.relations(caller), key_id=caller.key_id))


@router.put("/identities/{identity_id}/properties", response_model=Identity)
def set_identity_properties(services: TheServices, identity_id: str, properties: Annotated[NewProperties, Body()]) -> Response:
    """Replace all properties."""
    return reply(services.identities.set_properties(identity_id, properties))


@router.delete("/identities/{identity_id}")
def delete_identity(services: TheServices, caller: TheCaller, identity_id: str) -> Response:
    """Delete the identity. It is detached from its agents and blocks, which remain."""
    services.identities.delete(identity_id, key_id=caller.key_id)
    return plain(None)


@router.get("/identities/{identity_id}/agents", response_model=list[AgentState])
def list_identity_agents(services: TheServices, caller: TheCaller, identity_id: str, query: BlockAgentListQuery) -> Response:
    """A page of the agents of an identity."""
    return replies(services.agents.of_identity(identity_id, query.page(), query.relations(caller)))


@router.get("/identities/{identity_id}/blocks", response_model=list[Block])
def list_identity_blocks(services: TheServices, identity_id: str, query: IdentityBlockListQuery) -> Response:
    """A page of the blocks of an identity."""
    return replies(block.wire() for block in services.blocks.of_identity(identity_id, query.page()))


@router.patch("/agents/{agent_id}/identities/attach/{identity_id}")
def attach_identity_to_agent(services: TheServices, caller: TheCaller, agent_id: AgentId, identity_id: str) -> Response:
    """Attach an identity to an agent."""
    services.identities.links.attach_agent(identity_id, agent_id, user=caller.user_id, key_id=caller.key_id)
    return plain(None)


@router.patch("/agents/{agent_id}/identities/detach/{identity_id}")
def detach_identity_from_agent(services: TheServices, caller: TheCaller, agent_id: AgentId, identity_id: str) -> Response:
    """Detach an identity from an agent."""
    services.identities.links.detach_agent(identity_id, agent_id, user=caller.user_id, key_id=caller.key_id)
    return plain(None)


@router.patch("/blocks/{block_id}/identities/attach/{identity_id}")
def attach_identity_to_block(services: TheServices, caller: TheCaller, block_id: BlockId, identity_id: str) -> Response:
    """Attach an identity to a block."""
    services.identities.links.attach_block(identity_id, block_id, key_id=caller.key_id)
    return plain(None)


@router.patch("/blocks/{block_id}/identities/detach/{identity_id}")
def detach_identity_from_block(services: TheServices, caller: TheCaller, block_id: BlockId, identity_id: str) -> Response:
    """Detach an identity from a block."""
    services.identities.links.detach_block(identity_id, block_id, key_id=caller.key_id)
    return plain(None)
