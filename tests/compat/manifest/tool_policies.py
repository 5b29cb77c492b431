"""Tool policies: which calls are allowed, denied and asked for, and the record of calls. All of it is ours."""

from __future__ import annotations

from tests.compat.manifest.form import diverging

V1 = "V1 has no tool policies."
ROWS = (
    diverging(
        "tool_policies.administration",
        "API 2",
        "/v1/tool-policies creates, lists, shows, changes, orders and deletes the policies of the tenant, for keys of the scope admin.",
        V1,
    ),
    diverging(
        "tool_policies.deny",
        "RT 10",
        "A denied call is not made, by no way; its return has the status error and the text of the policy.",
        V1,
    ),
    diverging("tool_policies.ask", "RT 10", "A policy that asks makes the call wait as a rule `requires_approval` does.", V1),
    diverging(
        "tool_policies.allow",
        "RT 10",
        "An allowed call still waits for the approval that the agent's rules demand, unless the policy has `waives_approval`.",
        V1,
    ),
    diverging("tool_policies.order", "RT 10", "The first enabled policy that matches a call decides it.", V1),
    diverging(
        "tool_policies.rate",
        "RT 10",
        "A call above the rate of its policy returns an error that says when to try again.",
        V1,
    ),
    diverging(
        "tool_policies.test", "RT 10", "`/v1/tool-policies/test` says which policy decides a call, and why others do not.", V1
    ),
    diverging(
        "tool_policies.record",
        "RT 10",
        "`/v1/tool-calls` lists the calls of a tenant with policies: who, which tool, which policy, what became of it, a digest of the arguments.",
        V1,
    ),
)
