"""The verdict on the state after a story, the same for every engine: is anything lost, doubled or bricked?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hibernaut.domain.agents.group_turns import is_group, sayings_of
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.events import RunEvent
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.tool_calls.tool_execution import INTERRUPTED
from hibernaut.store.runs.runs import RunState
from hibernaut.store.table import keys
from tests.proof.agents import colleagues, sleeper_of
from tests.proof.imported import IMPORTS, once_imported, wholly_imported
from tests.proof.stories import ASK
from tests.support.settled import check_settled
from tests.support.world import World

Shown = dict[str, list[tuple[int, RunEvent]]]
"""The events that a follower of each run has seen."""


class Finding(NamedTuple):
    """A violation. `kind`: lost, doubled or bricked."""

    kind: str
    words: str


def shown(world: World, agent_id: str) -> Shown:
    """The events that a follower of every run of the agent has seen so far."""
    return {state.run.id: world.stores.runs.events(state.run.id, 0, world.clock.now()) for state in runs(world, agent_id)}


def runs(world: World, agent_id: str) -> list[RunState]:
    rows = world.stores.runs.walk([agent_id])
    return [world.run(keys.last_part(str(row["sk"]))) for row in rows]


def verdict(world: World, agent_id: str, texts: Sequence[str], before: Shown) -> list[Finding]:
    """The violations. `texts`: the messages that were answered. `before`: the events that followers had seen before the fault."""
    checks: list[tuple[str, Callable[[], None]]] = [
        ("bricked", lambda: bricked(world, agent_id)),
        ("lost", lambda: lost(world, agent_id, texts, before)),
        ("doubled", lambda: doubled(world, agent_id, texts)),
    ]
    if is_group(agent_id):
        checks[1:] = [
            ("lost", lambda: lost_in_group(world, agent_id, texts, before)),
            ("doubled", lambda: doubled_in_group(world, agent_id, texts)),
        ]
    else:
        agent = world.stores.agents.get(agent_id)
        if agent is not None and IMPORTS in agent.tags:
            checks += [("lost", lambda: wholly_imported(world, agent_id)), ("doubled", lambda: once_imported(world, agent_id))]
    found = []
    for kind, check in checks:
        try:
            check()
        except AssertionError as failure:
            found.append(Finding(kind, str(failure)))
    return found


def bricked(world: World, agent_id: str) -> None:
    """Checks that every run has ended with a stop reason, the log is valid for a provider, and no run is an owner, queued or due;
    of the sleep-time agent and of colleagues too.
    """
    sleeper = sleeper_of(world, agent_id)
    agent_ids = [agent_id, *([sleeper.id] if sleeper else []), *colleagues(world, agent_id)]
    for state in (state for each in agent_ids for state in runs(world, each)):
        assert state.ended, f"run {state.run.id} is {state.run.status.value}"
        assert state.run.stop_reason is not None, f"run {state.run.id} has no stop reason"
    check_settled(world, *agent_ids)


def lost(world: World, agent_id: str, texts: Sequence[str], before: Shown) -> None:
    """Checks that the log contains every accepted message and the outcome of every outside call, that the block contains every
    reported edit, and that followers lose no event.
    """
    said = inputs(world, agent_id)
    for text in texts:
        assert said[text] > 0, f"{text[:40]!r} is lost"
    log = world.log(agent_id)
    effects = Counter(str(args.get("x")) for _, args in world.runner.effects)
    told = sum("did ring" in text or INTERRUPTED in text for text in returns(log))
    assert sum(effects.values()) <= told, f"{sum(effects.values())} effects, and {told} returns that tell of one"
    told = sum("They talked." in text or INTERRUPTED in text for text in returns(log, ASK[0]))
    assert len(asked(world, agent_id)) <= told, f"{len(asked(world, agent_id))} messages, and {told} returns that tell of one"
    block = world.block(agent_id, "human").value.count("Oslo")
    assert block >= edits(log), f"{edits(log)} edits are reported, {block} are in the block"
    if sleeper := sleeper_of(world, agent_id):
        told, noted = told_to(world, sleeper.id), world.block(agent_id, "human").value.count("Bergen")
        for text in texts:
            assert told[text] > 0, f"the sleep-time agent was not told {text[:40]!r}"
        assert noted >= edits(world.log(sleeper.id)), f"an edit of the sleep-time agent is lost, {noted} are in the block"
    for run_id, events in shown(world, agent_id).items():
        seen = before.get(run_id, [])
        assert events[: len(seen)] == seen, f"a follower of {run_id} was shown something else before"


def doubled(world: World, agent_id: str, texts: Sequence[str]) -> None:
    """Checks that the log contains each message once, that each outside tool call was made at most once, and that the block
    contains each edit once.
    """
    said = inputs(world, agent_id)
    for text in texts:
        assert said[text] <= 1, f"{text[:40]!r} is doubled"
    effects = Counter(str(args.get("x")) for _, args in world.runner.effects)
    twice = [call for call, times in effects.items() if times > 1]
    assert not twice, f"the tool was called again: {twice}"
    again = [text for text, times in Counter(asked(world, agent_id)).items() if times > 1]
    assert not again, f"the other agent got a message again: {again}"
    log = world.log(agent_id)
    block = world.block(agent_id, "human").value.count("Oslo")
    assert block <= edits(log), f"{edits(log)} edits are reported, {block} are in the block"
    if sleeper := sleeper_of(world, agent_id):
        told, noted = told_to(world, sleeper.id), world.block(agent_id, "human").value.count("Bergen")
        assert max(told.values(), default=0) <= 1, f"the sleep-time agent was told something twice: {told}"
        assert noted <= edits(world.log(sleeper.id)), f"an edit of the sleep-time agent is doubled, {noted} are in the block"
    returned = Counter(answer.tool_call_id + (row.step_id or "") for row in log for answer in row.tool_returns)
    assert not [call for call, times in returned.items() if times > 1], "a call has two returns"


def lost_in_group(world: World, group_id: str, texts: Sequence[str], before: Shown) -> None:
    """Checks that the group's log has every accepted message, that each agent was told it and has answered it there, and that
    followers lose no event.
    """
    said = inputs(world, group_id)
    answers = Counter(
        one.agent_id for row in world.log(group_id) if row.role == "tool" for one in sayings_of(row) if not one.failed
    )
    for text in texts:
        assert said[text] > 0, f"{text[:40]!r} is lost"
    for member in colleagues(world, group_id):
        told = inputs(world, member)
        for text in texts:
            assert told[text] > 0, f"an agent was not told {text[:40]!r}"
        assert answers[member] >= len(texts), f"{len(texts)} messages, and an agent has answered {answers[member]}"
        block = world.block(member, "human").value.count("Oslo")
        assert block == edits(world.log(member)), f"{edits(world.log(member))} edits are reported, {block} are in the block"
    for run_id, events in shown(world, group_id).items():
        seen = before.get(run_id, [])
        assert events[: len(seen)] == seen, f"a follower of {run_id} was shown something else before"


def doubled_in_group(world: World, group_id: str, texts: Sequence[str]) -> None:
    """Checks that each message is in the group's log once, that each agent was told it once, took one turn for it, and made each
    call once.
    """
    for agent_id in (group_id, *colleagues(world, group_id)):
        said = inputs(world, agent_id)
        assert not [text for text in texts if said[text] > 1], f"{agent_id} has a message twice: {said}"
    asked_for = len(runs(world, group_id))
    for member in colleagues(world, group_id):
        assert len(runs(world, member)) == asked_for, f"{asked_for} messages, and {len(runs(world, member))} turns of an agent"
    effects = Counter(str(args.get("x")) for _, args in world.runner.effects)
    assert max(effects.values(), default=0) <= 1, f"the tool was called again: {effects}"


def inputs(world: World, agent_id: str) -> Counter[str]:
    """The user messages: those in the log, and the input of runs that were cancelled in the queue."""
    said = Counter(row.text() for row in world.log(agent_id) if row.role == "user" and row.step_id is None)
    for state in runs(world, agent_id):
        if state.run.status is RunStatus.CANCELLED:
            said.update(row.text() for row in state.run.input)
    return said


def told_to(world: World, sleeper_id: str) -> Counter[str]:
    """The user messages in the transcripts that a sleep-time agent was told."""
    told = [row.text() for row in world.log(sleeper_id) if row.role == "user" and row.step_id is None]
    return Counter(line.removeprefix("user: ") for text in told for line in text.splitlines() if line.startswith("user: "))


def asked(world: World, agent_id: str) -> list[str]:
    """The messages that the colleagues got."""
    rows = [row for one in colleagues(world, agent_id) for row in world.log(one)]
    return [row.text() for row in rows if row.role == "system" and row.run_id is not None]


def returns(log: Sequence[Message], tool: str = "ring") -> list[str]:
    """The returns of a tool."""
    answers = [answer for row in log for answer in row.tool_returns]
    return [answer.func_response or "" for answer in answers if tool in answer.tool_call_id]


def edits(log: Sequence[Message]) -> int:
    """The number of edits of the block that the log reports."""
    answers = [answer for row in log for answer in row.tool_returns if answer.status == "success"]
    return sum(answer.tool_call_id.endswith(("-memory_insert", "-core_memory_append")) for answer in answers)


def answered(world: World, run_id: str | None) -> list[Finding]:
    """A finding if the last message of the proof was not answered."""
    if run_id is None:
        return [Finding("bricked", "the next message is not taken")]
    run = world.run(run_id).run
    if run.stop_reason is not StopReason.END_TURN:
        return [Finding("bricked", f"the next message ends with {run.stop_reason}")]
    return []
