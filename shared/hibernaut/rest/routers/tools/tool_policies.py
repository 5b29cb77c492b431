"""Tool policies and the record of calls, for administrators of a tenant. Hibernaut's own; V1 has none."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.http.json_responses import filtered, plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.tool_policy_queries import ToolCallListQuery
from hibernaut.schemas.tools.call_record import ToolCallRecord
from hibernaut.schemas.tools.tool_policy import (
    CreateToolPolicy,
    OrderToolPolicies,
    TestedToolPolicies,
    TestToolPolicies,
    ToolPolicy,
    ToolPolicyId,
    UpdateToolPolicy,
)

router = APIRouter(tags=["tool policies"], route_class=LazyRoute)


@router.post("/v1/tool-policies", response_model=ToolPolicy)
def create_tool_policy(services: TheServices, request: CreateToolPolicy) -> Response:
    """Add a policy, behind all others or at a position. The first policy that matches a call decides it."""
    return reply(services.tool_policies.create(request))


@router.get("/v1/tool-policies", response_model=list[ToolPolicy])
def list_tool_policies(services: TheServices) -> Response:
    """All policies of the tenant, in the order in which they are compared with a call."""
    return replies(services.tool_policies.all())


@router.put("/v1/tool-policies/order", response_model=list[ToolPolicy])
def order_tool_policies(services: TheServices, request: OrderToolPolicies) -> Response:
    """Put the policies into an order, which names each of them once."""
    return replies(services.tool_policies.order(request))


@router.post("/v1/tool-policies/test", response_model=TestedToolPolicies)
def test_tool_policies(services: TheServices, request: TestToolPolicies) -> Response:
    """Which policy would decide a call, and why. Nothing is called, counted or recorded."""
    return reply(services.tool_policies.test(request))


@router.get("/v1/tool-policies/{policy_id}", response_model=ToolPolicy)
def retrieve_tool_policy(services: TheServices, policy_id: ToolPolicyId) -> Response:
    """One policy."""
    return reply(services.tool_policies.retrieve(policy_id))


@router.patch("/v1/tool-policies/{policy_id}", response_model=ToolPolicy)
def update_tool_policy(services: TheServices, policy_id: ToolPolicyId, request: UpdateToolPolicy) -> Response:
    """Change a policy. Its place in the order stays."""
    return reply(services.tool_policies.update(policy_id, request))


@router.delete("/v1/tool-policies/{policy_id}")
def delete_tool_policy(services: TheServices, policy_id: ToolPolicyId) -> Response:
    """Delete a policy."""
    services.tool_policies.delete(policy_id)
    return plain(None)


@router.get("/v1/tool-calls", response_model=list[ToolCallRecord])
def list_tool_calls(services: TheServices, query: ToolCallListQuery) -> Response:
    """A page of the recorded tool calls, newest first, each with its caller, the policy that decided it, and its outcome."""
    return filtered(services.tool_policies.calls(query.query()))
