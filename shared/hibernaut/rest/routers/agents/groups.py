"""Groups of agents (Letta V1 API, API 3 and 4.11)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import AgentGroupListQuery, GroupListQuery
from hibernaut.schemas.agents.group import Group, GroupCreate, GroupUpdate
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.ids import AgentId, GroupId

router = APIRouter(prefix="/v1", tags=["groups"], route_class=LazyRoute)


@router.get("/groups", response_model=list[Group])
def list_groups(services: TheServices, query: GroupListQuery) -> Response:
    """A page of groups."""
    return replies(group.wire() for group in services.groups.list(query.filter(), query.page()))


@router.get("/groups/count", response_model=int)
def count_groups(services: TheServices) -> Response:
    """The number of groups, hidden ones included."""
    return plain(services.groups.count())


@router.post("/groups", response_model=Group)
def create_group(services: TheServices, caller: TheCaller, request: GroupCreate) -> Response:
    """Create a group. Its shared blocks are attached to its agents and to its manager."""
    return reply(services.groups.create(request, key_id=caller.key_id).wire())


@router.get("/groups/{group_id}", response_model=Group)
def retrieve_group(services: TheServices, group_id: GroupId) -> Response:
    """One group. An agent that was deleted stays in `agent_ids`."""
    return reply(services.groups.retrieve(group_id).wire())


@router.patch("/groups/{group_id}", response_model=Group)
def update_group(services: TheServices, caller: TheCaller, group_id: GroupId, request: GroupUpdate) -> Response:
    """Change the fields that are not null; the manager type stays."""
    return reply(services.groups.update(group_id, request, key_id=caller.key_id).wire())


@router.delete("/groups/{group_id}", response_model=JsonObject)
def delete_group(services: TheServices, caller: TheCaller, group_id: GroupId) -> Response:
    """Delete a group. Its agents stay."""
    services.groups.delete(group_id, key_id=caller.key_id)
    return plain({"message": f"Group id={group_id} successfully deleted"})


@router.patch("/groups/{group_id}/blocks/attach/{block_id}")
def attach_group_block(services: TheServices, group_id: GroupId, block_id: str) -> Response:
    """Add a block to the shared blocks of the group. Its agents do not get it."""
    services.groups.attach_block(group_id, block_id)
    return plain(None)


@router.patch("/groups/{group_id}/blocks/detach/{block_id}")
def detach_group_block(services: TheServices, group_id: GroupId, block_id: str) -> Response:
    """Remove a block from the shared blocks of the group."""
    services.groups.detach_block(group_id, block_id)
    return plain(None)


@router.get("/agents/{agent_id}/groups", response_model=list[Group])
def list_agent_groups(services: TheServices, agent_id: AgentId, query: AgentGroupListQuery) -> Response:
    """A page of the groups that the agent is in. The group that it manages is `multi_agent_group` in its state."""
    return replies(group.wire() for group in services.groups.of_agent(agent_id, query.filter(), query.page()))
