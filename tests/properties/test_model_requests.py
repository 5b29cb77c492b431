"""A request's tools are the same for a whole window, whatever the rules allow: a provider's cache of the prefix begins with
them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.agents.agent_types import spec_of
from hibernaut.domain.turn import model_requests
from hibernaut.domain.turn.actor import Actor
from hibernaut.domain.turn.model_requests import model_request, plan
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.tools.tool import Tool
from hibernaut.schemas.tools.tool_rule import (
    ChildToolRule,
    InitToolRule,
    MaxCountPerStepToolRule,
    ParentToolRule,
    TerminalToolRule,
    ToolRule,
)

NAMES = ("look", "think", "tell", "write")
CONFIG = LLMConfig(model="m", model_endpoint_type="openai", context_window=32_000)
names = st.sampled_from(NAMES)
rules: st.SearchStrategy[ToolRule] = st.one_of(
    st.builds(InitToolRule, tool_name=names),
    st.builds(TerminalToolRule, tool_name=names),
    st.builds(ChildToolRule, tool_name=names, children=st.lists(names, min_size=1, max_size=2, unique=True)),
    st.builds(ParentToolRule, tool_name=names, children=st.lists(names, min_size=1, max_size=2, unique=True)),
    st.builds(MaxCountPerStepToolRule, tool_name=names, max_count_limit=st.integers(1, 2)),
)


@given(st.lists(rules, max_size=4), st.lists(names, max_size=5), st.sampled_from(AgentType), st.sampled_from([None, "conv-1"]))
def test_tools_never_change_and_allowed_says_which_may_be_called(
    wanted: list[ToolRule], history: list[str], kind: AgentType, conversation: str | None
) -> None:
    tools = tuple(Tool(id=f"tool-{name}", name=name, json_schema={"name": name}) for name in NAMES)
    actor = Actor("agent-1", conversation, "run-1", spec_of(kind), CONFIG, tuple(wanted), tools, frozenset(), "UTC")
    offered, choice, parallel = plan(actor, history, None)
    request = model_request(actor, [], "system", offered, choice=choice, parallel=parallel, timeout=1.0)
    assert [tool.name for tool in request.tools] == list(NAMES)
    assert {tool.name for tool in request.callable_tools} == set(offered)
    assert request.allowed is None or set(request.allowed) == set(offered) != set(NAMES)
    assert request.cache_key == (conversation or "agent-1")


def test_a_tools_schema_is_read_once_for_all_requests_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    sound = model_requests.sound_parameters

    def counted(parameters: object) -> JsonObject:
        read.append(parameters)
        return sound(parameters)

    monkeypatch.setattr(model_requests, "sound_parameters", counted)
    tools = tuple(Tool(id=f"tool-{name}", name=name, json_schema={"name": name}) for name in NAMES)
    actor = Actor("agent-1", None, "run-1", spec_of(AgentType.LETTA_V1), CONFIG, (), tools, frozenset(), "UTC")
    for _ in range(3):
        model_requests.tools_size(actor)
        model_request(actor, [], "system", NAMES, choice=plan(actor, (), None)[1], parallel=False, timeout=1.0)
    assert len(read) == len(NAMES)
    strict = replace(actor, config=CONFIG.model_copy(update={"strict": True}))
    assert model_requests.specification(strict, tools[0]).strict, "another actor makes its own"
    other = Tool(id="tool-other", name="look", json_schema={"name": "look", "description": "another"})
    assert model_requests.specification(actor, other).description == "another"
    assert [tool for tool, _ in actor.specifications.values()] == [*tools, other], "an identity stays that of its tool"
