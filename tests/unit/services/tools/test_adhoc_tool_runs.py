"""Running tools because the API asks for it, in the real cage."""

from __future__ import annotations

import pytest

from hibernaut.domain.tools.builtin.builtin_tools import builtin_id
from hibernaut.schemas.errors import InvalidToolSource, NotFound
from hibernaut.schemas.tools.tool import ToolCreate, ToolExecutionResult, ToolRunFromSource
from tests.support.house import House

ECHO = '''
def echo(text: str, agent_state: "AgentState") -> str:
    """Say it again.

    Args:
        text: What to say.
    """
    import os
    print("heard")
    agent_state.memory.update_block_value("human", text)
    return f"{text} {os.environ['KEY']} {os.environ['LETTA_AGENT_ID']}"
'''
FAIL = 'def fail() -> str:\n    """Fail."""\n    raise ValueError("no luck")\n'


def run(house: House, agent_id: str, name: str, **args: object) -> ToolExecutionResult:
    return house.services.tools.runs.run_attached(agent_id, name, args)


def test_a_custom_tool_gets_the_agents_secrets_and_may_write_its_memory(house: House) -> None:
    tool = house.services.tools.save(ToolCreate(source_code=ECHO))
    agent = house.agent(tool_ids=[tool.id], secrets={"KEY": "s3"}, memory_blocks=[{"label": "human", "value": "old"}])
    result = run(house, agent.id, "echo", text="hi")
    assert (result.status, result.func_return) == ("success", f"hi s3 {agent.id}")
    assert "".join(result.stdout or []).strip() == "heard"
    assert house.services.agents.block(agent.id, "human").value == "hi"


def test_a_tool_that_fails_says_why_in_stderr(house: House) -> None:
    house.services.tools.save(ToolCreate(source_code=FAIL))
    agent = house.agent(tools=["fail"])
    result = run(house, agent.id, "fail")
    assert (result.status, result.func_return) == ("error", None)
    assert "no luck" in "".join(result.stderr or [])


def test_a_memory_tool_edits_the_block_as_in_a_step(house: House) -> None:
    agent = house.agent(memory_blocks=[{"label": "human", "value": "Ann"}])
    result = run(house, agent.id, "memory_replace", label="human", old_string="Ann", new_string="Bob")
    assert (result.status, result.func_return) == ("success", "Bob")
    assert house.services.agents.block(agent.id, "human").value == "Bob"
    refused = run(house, agent.id, "memory_replace", label="human", old_string="Ann", new_string="Eve")
    assert (refused.status, refused.func_return) == ("error", None)
    assert refused.stderr
    assert house.services.agents.block(agent.id, "human").value == "Bob"


def test_archival_tools_keep_and_find_passages(house: House) -> None:
    ids = [builtin_id("archival_memory_insert"), builtin_id("archival_memory_search")]
    agent = house.agent(tool_ids=ids)
    assert run(house, agent.id, "archival_memory_insert", content="Rex is a dog").status == "success"
    assert "Rex is a dog" in str(run(house, agent.id, "archival_memory_search", query="dog").func_return)


def test_a_run_leaves_no_message_and_needs_an_attached_tool(house: House) -> None:
    agent = house.agent(agent_type="memgpt_v2_agent", initial_message_sequence=[])
    assert run(house, agent.id, "send_message", message="hi").status == "success"
    assert len(house.services.agents.retrieve(agent.id).message_ids or []) == 1
    with pytest.raises(NotFound, match=f"Tool 'echo' not found or not attached to agent '{agent.id}'"):
        run(house, agent.id, "echo")


def test_a_source_is_run_once_without_being_a_tool(house: House) -> None:
    request = ToolRunFromSource(source_code="def add(a, b):\n    print('on it')\n    return a + b", args={"a": 1, "b": 2})
    answer = house.services.tools.runs.run_source(request)
    assert (answer.status, answer.tool_return, answer.id, answer.tool_call_id) == ("success", "3", "null", "null")
    assert "".join(answer.stdout or []).strip() == "on it"
    failed = house.services.tools.runs.run_source(ToolRunFromSource(source_code=FAIL, args={}))
    assert failed.status == "error"
    assert "no luck" in "".join(failed.stderr or [])
    with pytest.raises(InvalidToolSource):
        house.services.tools.runs.run_source(ToolRunFromSource(source_code="def (", args={}))
