"""What a story has left: is anything lost, doubled, or bricked? Three questions that are asked of every engine alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hibernaut.schemas.events import RunEvent
from hibernaut.schemas.message import Message
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.tool_calls.tool_execution import INTERRUPTED
from hibernaut.store import keys
from hibernaut.store.runs import RunState
from tests.support.settled import check_settled
from tests.support.world import World

Shown = dict[str, list[tuple[int, RunEvent]]]
"""What a follower of each run was shown."""


class Finding(NamedTuple):
    """Something that is not as it must be; `kind` is lost, doubled or bricked."""

    kind: str
    words: str


def shown(world: World, agent_id: str) -> Shown:
    """What somebody who follows every run of the agent has seen by now."""
    return {state.run.id: world.stores.runs.events(state.run.id, 0, world.clock.now()) for state in runs(world, agent_id)}


def runs(world: World, agent_id: str) -> list[RunState]:
    rows = world.stores.runs.walk([agent_id])
    return [world.run(keys.last_part(str(row["sk"]))) for row in rows]


def verdict(world: World, agent_id: str, texts: Sequence[str], before: Shown) -> list[Finding]:
    """What is wrong. `texts` is what was said and answered; `before` what followers had been shown when the fault struck."""
    checks: list[tuple[str, Callable[[], None]]] = [
        ("bricked", lambda: bricked(world, agent_id)),
        ("lost", lambda: lost(world, agent_id, texts, before)),
        ("doubled", lambda: doubled(world, agent_id, texts)),
    ]
    found = []
    for kind, check in checks:
        try:
            check()
        except AssertionError as failure:
            found.append(Finding(kind, str(failure)))
    return found


def bricked(world: World, agent_id: str) -> None:
    """Every run has ended with a stop reason, the log is valid for a provider, nobody owns, waits or is due."""
    for state in runs(world, agent_id):
        assert state.ended, f"run {state.run.id} is {state.run.status.value}"
        assert state.run.stop_reason is not None, f"run {state.run.id} has no stop reason"
    check_settled(world, agent_id)


def lost(world: World, agent_id: str, texts: Sequence[str], before: Shown) -> None:
    """What was asked stands in the log, what happened outside is told, what was reported as remembered is; followers lose nothing."""
    said = inputs(world, agent_id)
    for text in texts:
        assert said[text] > 0, f"{text[:40]!r} is lost"
    log = world.log(agent_id)
    effects = Counter(str(args.get("x")) for _, args in world.runner.effects)
    told = sum("did ring" in text or INTERRUPTED in text for text in returns(log))
    assert sum(effects.values()) <= told, f"{sum(effects.values())} effects, and {told} returns that tell of one"
    block = world.block(agent_id, "human").value.count("Oslo")
    assert block >= edits(log), f"{edits(log)} edits are reported, {block} are in the block"
    for run_id, events in shown(world, agent_id).items():
        seen = before.get(run_id, [])
        assert events[: len(seen)] == seen, f"a follower of {run_id} was shown something else before"


def doubled(world: World, agent_id: str, texts: Sequence[str]) -> None:
    """Each message stands in the log once, each call of a tool outside was made at most once, each edit is in the block once."""
    said = inputs(world, agent_id)
    for text in texts:
        assert said[text] <= 1, f"{text[:40]!r} is doubled"
    effects = Counter(str(args.get("x")) for _, args in world.runner.effects)
    twice = [call for call, times in effects.items() if times > 1]
    assert not twice, f"the tool was called again: {twice}"
    log = world.log(agent_id)
    block = world.block(agent_id, "human").value.count("Oslo")
    assert block <= edits(log), f"{edits(log)} edits are reported, {block} are in the block"
    returned = Counter(answer.tool_call_id + (row.step_id or "") for row in log for answer in row.tool_returns)
    assert not [call for call, times in returned.items() if times > 1], "a call has two returns"


def inputs(world: World, agent_id: str) -> Counter[str]:
    """What people said: in the log, or kept on a run that was cancelled before its turn came."""
    said = Counter(row.text() for row in world.log(agent_id) if row.role == "user" and row.step_id is None)
    for state in runs(world, agent_id):
        if state.run.status is RunStatus.CANCELLED:
            said.update(row.text() for row in state.run.input)
    return said


def returns(log: Sequence[Message]) -> list[str]:
    """What the tool `ring` answered."""
    answers = [answer for row in log for answer in row.tool_returns]
    return [answer.func_response or "" for answer in answers if "ring" in answer.tool_call_id]


def edits(log: Sequence[Message]) -> int:
    """Changes of the block that the log says were made."""
    answers = [answer for row in log for answer in row.tool_returns if answer.status == "success"]
    return sum(answer.tool_call_id.endswith(("-memory_insert", "-core_memory_append")) for answer in answers)


def answered(world: World, run_id: str | None) -> list[Finding]:
    """Whether the message after everything was answered."""
    if run_id is None:
        return [Finding("bricked", "the next message is not taken")]
    run = world.run(run_id).run
    if run.stop_reason is not StopReason.END_TURN:
        return [Finding("bricked", f"the next message ends with {run.stop_reason}")]
    return []
