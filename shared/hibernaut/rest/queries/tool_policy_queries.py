"""The query string of the list of recorded calls."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from hibernaut.schemas.base import Schema
from hibernaut.schemas.ids import AgentId
from hibernaut.schemas.limits import Name
from hibernaut.schemas.tools.call_record import RecordCursor
from hibernaut.schemas.tools.tool_policy import PolicyOutcome, ToolPolicyId
from hibernaut.services.tools.tool_policies import CallQuery


class ToolCallList(Schema):
    """A page of recorded calls, newest first. `after`: the id of the last one of the page before."""

    after: RecordCursor | None = None
    limit: int = Field(default=50, ge=1, le=200)
    agent_id: AgentId | None = None
    tool: Name | None = None
    outcome: PolicyOutcome | None = None
    policy_id: ToolPolicyId | None = None
    key_id: Name | None = None

    def query(self) -> CallQuery:
        return CallQuery(self.limit, self.after, self.agent_id, self.tool, self.outcome, self.policy_id, self.key_id)


ToolCallListQuery = Annotated[ToolCallList, Query()]
