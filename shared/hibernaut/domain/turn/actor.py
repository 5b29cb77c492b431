"""The values that describe the agent of a turn and a single tool call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from hibernaut.domain.agents.agent_types import AgentTypeSpec, spec_of
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import ImageContent
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.models.model_call import ToolSpec
from hibernaut.schemas.tools.tool import Tool
from hibernaut.schemas.tools.tool_policy import CallDecision, ToolPolicy
from hibernaut.schemas.tools.tool_rule import ToolRule


@immutable
class Actor:
    """The agent as one run sees it. `config` is the model of this run; `conversation_id` is None in the default conversation.

    `client_tools` are the names of the tools that the client runs. `group_id`: the group for which the agent works in this run.
    `policies`: the tenant's tool policies, in their order; `tags`: the agent's, by which they may choose.
    """

    agent_id: str
    conversation_id: str | None
    run_id: str
    spec: AgentTypeSpec
    config: LLMConfig
    rules: tuple[ToolRule, ...]
    tools: tuple[Tool, ...]
    client_tools: frozenset[str]
    timezone: str
    group_id: str | None = None
    policies: tuple[ToolPolicy, ...] = ()
    tags: tuple[str, ...] = ()
    specifications: dict[int, tuple[Tool, ToolSpec]] = field(init=False, default_factory=dict, repr=False, compare=False)
    """The results of `model_requests.specification`, by the identity of the tool: a step needs each several times."""

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.tools if tool.name]

    def tool(self, name: str) -> Tool | None:
        """The tool with this name among `tools`; None if it is not attached."""
        return next((tool for tool in self.tools if tool.name == name), None)


def actor_of(agent: StoredAgent, tools: Sequence[Tool], conversation_id: str | None = None) -> Actor:
    """The agent as seen by a run without settings of its own. `tools` are the attached tools."""
    return Actor(
        agent_id=agent.id,
        conversation_id=conversation_id,
        run_id="",
        spec=spec_of(agent.agent_type),
        config=agent.llm_config,
        rules=tuple(agent.tool_rules or ()),
        tools=tuple(tools),
        client_tools=frozenset(),
        timezone=agent.timezone,
    )


@immutable
class Call:
    """One parsed tool call of a reply. `refusal` is the error text that the model gets in place of a result; a refused call is
    not run. `decision`: that of the tool policy that matches it; None: none does.
    """

    id: str
    name: str
    args: JsonObject
    request_heartbeat: bool = False
    refusal: str | None = None
    needs_approval: bool = False
    decision: CallDecision | None = None


@immutable
class CallResult:
    """The result of one call. `message` is packed for the model (a string or an object); `text` is the plain return for the tool
    rules. `limited`: the call was not made, because the rate of its policy is used up. `spent_ns`: how long it took; None if that
    is not known.
    """

    call: Call
    status: Literal["success", "error"]
    message: str | JsonObject
    text: str | None = None
    stdout: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()
    images: tuple[ImageContent, ...] = ()
    limited: bool = False
    spent_ns: int | None = None
