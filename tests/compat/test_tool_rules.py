"""What tool rules make of a run, through the SDK (Letta V1 API, API 4.9; RT 3)."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from letta_client import Letta, UnprocessableEntityError

from tests.compat.conftest import HANDLE, Make, Said
from tests.compat.replies import returns

NAMES = ("begin", "middle", "helper", "end")
BYE = {"content": "Bye."}
Rule = dict[str, Any]


@pytest.fixture
def ruled(client: Letta, new_agent: Make) -> Make:
    """Makes an agent with four tools, each of which returns its `text`, and these rules."""
    source = 'def {name}(text: str, times: int = 1) -> str:\n    """Say it.\n\n    Args:\n        text: What.\n        times: How often.\n    """\n    return text * times\n'
    tools = [client.tools.create(source_code=source.format(name=name)).id for name in NAMES]
    return lambda *rules: new_agent(model=HANDLE, include_base_tools=False, tool_ids=tools, tool_rules=list(rules))


def rule(kind: str, tool: str, **fields: Any) -> Rule:
    return {"type": kind, "tool_name": tool, **fields}


NUMBERS = count()


def calling(name: str, text: str = "x") -> dict[str, Any]:
    return {"content": None, "tool_calls": [{"id": f"call_{next(NUMBERS)}", "name": name, "arguments": {"text": text}}]}


def run(client: Letta, said: Said, agent: Any, *replies: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The reply to a message, and the tool choice of each request to the model."""
    said.next(*replies)
    reply = client.agents.messages.create(agent.id, input="Go.")
    choices = [request.body.get("tool_choice") for request in said.server.requests]
    return reply, [choice["function"]["name"] if isinstance(choice, dict) else choice for choice in choices]


@pytest.mark.manifest("rules.first", "rules.children")
def test_rules_lead_from_the_first_tool_to_its_children(client: Letta, said: Said, ruled: Make) -> None:
    chain = (
        rule("run_first", "begin"),
        rule("constrain_child_tools", "begin", children=["middle"]),
        rule("constrain_child_tools", "middle", children=["helper", "end"]),
        rule("exit_loop", "end"),
    )
    reply, choices = run(client, said, ruled(*chain), calling("begin"), calling("middle"), calling("end"))
    assert choices == ["begin", "middle", "required"]
    assert [status for status, _ in returns(reply)] == ["success"] * 3
    assert reply.stop_reason.stop_reason == "tool_rule"


@pytest.mark.manifest("rules.parent", "rules.offered")
def test_a_call_that_no_rule_allows_is_not_made(client: Letta, said: Said, ruled: Make) -> None:
    agent = ruled(rule("parent_last_tool", "begin", children=["middle", "end"]))
    reply, choices = run(client, said, agent, calling("middle"), calling("begin"), calling("end"), BYE)
    assert choices[2] == "required"
    assert choices[0] == choices[3] != "required"
    (refused, why), *made = returns(reply)
    assert (refused, [status for status, _ in made]) == ("error", ["success"] * 2)
    assert all(name in why for name in ("Cannot call middle", "begin", "helper"))
    sent = [{tool["function"]["name"] for tool in request.body["tools"]} for request in said.server.requests]
    assert sent == [set(NAMES)] * 4, "the beginning of each request is the same"


@pytest.mark.manifest("rules.conditional")
@pytest.mark.parametrize(("text", "following"), [("True", "end"), ("false", "begin"), ("unclear", "helper")])
def test_the_return_of_a_tool_selects_the_next_one(client: Letta, said: Said, ruled: Make, text: str, following: str) -> None:
    mapping = {"true": "end", "false": "begin"}
    agent = ruled(rule("conditional", "begin", child_output_mapping=mapping, default_child="helper"))
    _, choices = run(client, said, agent, calling("begin", text), calling(following, "done"), BYE)
    assert choices[1] == following


@pytest.mark.manifest("rules.count", "rules.required")
def test_tools_are_called_at_most_and_at_least_so_often(client: Letta, said: Said, ruled: Make) -> None:
    agent = ruled(rule("max_count_per_step", "begin", max_count_limit=2), rule("required_before_exit", "end"))
    replies = [calling("begin"), calling("begin"), calling("begin"), BYE, calling("end"), BYE]
    reply, _ = run(client, said, agent, *replies)
    assert [status for status, _ in returns(reply)] == ["success", "success", "error", "success"]
    assert len(said.server.requests) == len(replies)
    assert reply.stop_reason.stop_reason == "end_turn"


@pytest.mark.manifest("rules.arguments", "rules.arguments.misfit")
def test_arguments_of_a_rule_override_those_of_the_model(client: Letta, said: Said, ruled: Make) -> None:
    nodes = [{"name": "end", "args": {"times": 3}}]
    children = rule("constrain_child_tools", "begin", children=["end"], child_arg_nodes=nodes)
    reply, _ = run(
        client, said, ruled(rule("run_first", "begin", args={"text": "y"}), children), calling("begin"), calling("end"), BYE
    )
    assert returns(reply) == [("success", "y"), ("success", "xxx")]
    for misfit in ({"times": "often"}, {"no_such": 1}):
        reply, _ = run(client, said, ruled(rule("run_first", "begin", args=misfit)), calling("begin"), BYE)
        ((status, why),) = returns(reply)
        assert (status, next(iter(misfit)) in why, reply.stop_reason.stop_reason) == ("error", True, "end_turn")


@pytest.mark.manifest("rules.arguments")
def test_arguments_for_a_tool_that_is_no_child_are_refused(client: Letta, ruled: Make) -> None:
    wrong = rule("constrain_child_tools", "begin", children=["end"], child_arg_nodes=[{"name": "helper", "args": {}}])
    with pytest.raises(UnprocessableEntityError, match="helper"):
        ruled(wrong)
    agent = ruled()
    with pytest.raises(UnprocessableEntityError, match="helper"):
        client.agents.update(agent.id, tool_rules=[wrong])
    assert client.agents.retrieve(agent.id).tool_rules == []
