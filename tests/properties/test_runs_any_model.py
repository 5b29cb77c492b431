"""A whole house with a model that says anything and a provider that fails in every way (invariants 4, 6, 7 and
10).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.errors import ApprovalPending, ModelError, ModelTimeout
from hibernaut.schemas.tools.tool_rule import (
    ChildToolRule,
    ContinueToolRule,
    InitToolRule,
    MaxCountPerStepToolRule,
    RequiredBeforeExitToolRule,
    RequiresApprovalToolRule,
    TerminalToolRule,
    ToolRule,
)
from tests.support.replies import ANSWERS, TOOLS, replies
from tests.support.scripted_model import calls, in_turn, says, serialized
from tests.support.settled import check_settled
from tests.support.world import World, data_in

RULES: list[list[ToolRule]] = [
    [],
    [],
    [TerminalToolRule(tool_name="send_message"), ContinueToolRule(tool_name="memory_insert")],
    [InitToolRule(tool_name="memory_insert"), RequiredBeforeExitToolRule(tool_name="ring")],
    [ChildToolRule(tool_name="ring", children=["send_message"]), MaxCountPerStepToolRule(tool_name="ring", max_count_limit=1)],
    [RequiresApprovalToolRule(tool_name="ring")],
]
Answers = Sequence[ModelReply | ModelError]


@contextmanager
def world_saying(answers: Answers, **model: object) -> Iterator[World]:
    """A house whose model gives these answers, and then nothing but a text."""
    with tempfile.TemporaryDirectory() as folder:
        yield World(data_in(Path(folder), in_turn(*answers, says("enough")), **model))


AGENTS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from([AgentType.LETTA_V1, AgentType.MEMGPT, AgentType.SLEEPTIME, AgentType.WORKFLOW, AgentType.REACT]),
        "rules": st.sampled_from(RULES),
    }
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(AGENTS, st.lists(ANSWERS, max_size=6), st.booleans(), st.integers(1, 4))
def test_every_run_ends_with_a_valid_log_whatever_the_model_says(
    agent: dict[str, object], answers: Answers, parallel: bool, max_steps: int
) -> None:
    with world_saying(answers, parallel=parallel) as world:
        agent_id = world.make_agent(blocks={"human": "Ann"}, tools=TOOLS, **agent)  # type: ignore[arg-type]
        for text in ("one", "two"):
            run_id = world.send(agent_id, text, max_steps=max_steps)
            assert world.run(run_id).run.steps <= max_steps
        check_settled(world, agent_id)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(AGENTS, st.lists(st.one_of(replies(), st.just(ModelTimeout("late"))), min_size=1, max_size=6))
def test_what_was_sent_to_the_model_stays_the_beginning_of_what_is_sent_next(agent: dict[str, object], answers: Answers) -> None:
    with world_saying(answers) as world:
        agent_id = world.make_agent(blocks={"human": "Ann"}, tools=TOOLS, **agent)  # type: ignore[arg-type]
        with suppress(ApprovalPending):  # a call that waits for an answer ends the conversation here
            for text in ("one", "two", "three"):
                before, block = len(world.models.requests), world.block(agent_id, "human").value
                world.send(agent_id, text)
                check_prefixes(world, world.models.requests[before:])
                world.clock.sleep(3600)
                if world.block(agent_id, "human").value == block and agent["kind"] is not AgentType.WORKFLOW:
                    world.send(agent_id, "again")
                    check_prefixes(world, world.models.requests[before:])
        check_settled(world, agent_id)


def check_prefixes(world: World, requests: Sequence[ModelRequest]) -> None:
    """Each request begins with the one before it, byte for byte, up to the bracket that ends the list of messages."""
    assert len({request.system for request in requests}) <= 1
    for before, after in pairwise(serialized(world.models, requests)):
        assert after.startswith(before[:-1]), f"the prefix has changed:\n{before}\n{after}"


def test_time_and_counters_in_the_prompt_change_only_when_memory_does(tmp_path: Path) -> None:
    edit = calls(("memory_insert", {"label": "human", "new_string": "Oslo"}))
    world = World(data_in(tmp_path, in_turn(says("a"), says("b"), edit, says("c"), says("d"))))
    agent_id = world.make_agent(blocks={"human": "Ann"}, tools=TOOLS)
    shown = []
    for text in ("one", "two", "three", "four"):
        world.clock.sleep(3600)
        world.send(agent_id, text)
        shown.append(world.log(agent_id)[0].text())
    first, second, third, fourth = shown
    assert first == second == third, "time went by and memory did not change before the third answer was asked for"
    assert "Oslo" not in third
    assert "Oslo" in fourth
    assert {request.system for request in world.models.requests} == {first}, "the model is told in its newest message"
    assert "Oslo" in world.models.requests[-1].messages[-1].text()


@pytest.mark.parametrize("kind", [AgentType.LETTA_V1, AgentType.MEMGPT])
def test_the_prompt_of_a_run_stays_as_it_is_while_the_run_edits_memory(kind: AgentType, tmp_path: Path) -> None:
    edit = calls(("memory_insert", {"label": "human", "new_string": "Oslo", "request_heartbeat": True}))
    end = calls(("send_message", {"message": "done"}))
    world = World(data_in(tmp_path, in_turn(edit, edit, end if kind is AgentType.MEMGPT else says("done"))))
    agent_id = world.make_agent(kind=kind, blocks={"human": "Ann"}, tools=TOOLS)
    world.send(agent_id, "hello")
    assert len(world.models.requests) == 3
    assert len({request.system for request in world.models.requests}) == 1
    assert world.block(agent_id, "human").value.count("Oslo") == 2
