"""The tools of one agent (Letta V1 API, API 2.6)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import AgentToolListQuery
from hibernaut.rest.routers.agents.changed_agent import null_or_state
from hibernaut.schemas.agents.agent import AgentState
from hibernaut.schemas.base import Schema
from hibernaut.schemas.errors import Unprocessable
from hibernaut.schemas.ids import AgentId, ToolId
from hibernaut.schemas.tools.tool import Tool, ToolExecutionResult, ToolRunRequest

router = APIRouter(prefix="/v1/agents/{agent_id}/tools", tags=["agents"], route_class=LazyRoute)


class ModifyApproval(Schema):
    """Whether each call of the tool requires an approval."""

    requires_approval: bool | None = None


@router.get("", response_model=list[Tool])
def list_agent_tools(services: TheServices, agent_id: AgentId, query: AgentToolListQuery) -> Response:
    """A page of the agent's tools."""
    return replies(services.agents.tool_page(agent_id, query.page()))


@router.patch("/attach/{tool_id}", response_model=AgentState | None)
def attach_tool(services: TheServices, caller: TheCaller, agent_id: AgentId, tool_id: ToolId) -> Response:
    """Attach a tool."""
    agent = services.agents.updates.attach_tool(agent_id, tool_id, user=caller.user_id, key_id=caller.key_id)
    return null_or_state(services, caller, agent)


@router.patch("/detach/{tool_id}", response_model=AgentState | None)
def detach_tool(services: TheServices, caller: TheCaller, agent_id: AgentId, tool_id: ToolId) -> Response:
    """Detach a tool. The rules that name it remain."""
    agent = services.agents.updates.detach_tool(agent_id, tool_id, user=caller.user_id, key_id=caller.key_id)
    return null_or_state(services, caller, agent)


@router.patch("/approval/{tool_name}", response_model=AgentState | None)
def modify_approval(
    services: TheServices,
    caller: TheCaller,
    agent_id: AgentId,
    tool_name: str,
    request: ModifyApproval | None = None,
    requires_approval: bool | None = None,
) -> Response:
    """Set whether each call of the tool requires an approval. The query parameter is the deprecated form of the body."""
    required = request.requires_approval if request and request.requires_approval is not None else requires_approval
    if required is None:
        raise Unprocessable("`requires_approval` is required, in the body or as a query parameter")
    agent = services.agents.updates.set_approval(
        agent_id, tool_name, required=required, user=caller.user_id, key_id=caller.key_id
    )
    return null_or_state(services, caller, agent)


@router.post("/{tool_name}/run", response_model=ToolExecutionResult)
def run_agent_tool(
    services: TheServices, caller: TheCaller, agent_id: AgentId, tool_name: str, request: ToolRunRequest
) -> Response:
    """Run one of the agent's tools. Nothing is written to its conversation."""
    return reply(services.tools.runs.run_attached(agent_id, tool_name, request.args, key_id=caller.key_id))
