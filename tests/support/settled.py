"""The invariants of a conversation in which no run can advance, for all tests of runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from hibernaut.ports.storage.table import Index
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.events import DoneEvent, MessageEvent
from hibernaut.schemas.stop import RunStatus
from hibernaut.store.table import keys
from tests.support.world import TENANT, World

SENT = ("user", "system")
"""The roles of messages that clients and other agents send."""


def check_valid(log: Sequence[Message], *, waits: bool = False) -> None:
    """Checks invariant 6: each call has exactly one return, in order, before the next message. Every prefix that does not end
    inside a pair is valid.

    An approval row belongs to the reply before it, and its calls are returned first. `waits`: calls may be open at the end.
    """
    open_calls: list[str] = []
    for place, row in enumerate(log):
        if row.role == "tool":
            returned = [answer.tool_call_id for answer in row.tool_returns]
            assert returned == open_calls, f"{row.id} returns {returned} where {open_calls} were called"
            open_calls = []
            continue
        if row.role == "approval" and not row.tool_calls:
            assert open_calls, f"{row.id} answers nothing"
            continue
        asks = row.role == "approval" and log[place - 1].role == "assistant" and log[place - 1].step_id == row.step_id
        assert asks or not open_calls, f"{row.role} row {row.id} follows calls without returns: {open_calls}"
        open_calls = [call.id for call in row.tool_calls or ()] + open_calls
        assert len(set(open_calls)) == len(open_calls)
    assert waits or not open_calls, f"calls stand open at the end: {open_calls}"


def check_settled(world: World, *agent_ids: str) -> None:
    """Checks that every accepted run has ended, and that no run is an owner or queued."""
    for agent_id in agent_ids:
        log, head = world.log(agent_id), world.head(agent_id)
        check_valid(log, waits=head.pending is not None)
        check_events(world, agent_id)
        assert (head.owner, head.waiting) == (None, 0), "somebody still owns or waits"
        assert world.stores.conversations.queue(agent_id) == []
        assert (head.last_message, head.messages) == (log[-1].id, len(log))
        writers = [run_id for run_id, _ in groupby(row.run_id for row in log) if run_id is not None]
        assert len(writers) == len(set(writers)), "runs are interleaved"
    assert world.all_stores.due.all() == [], "a run that has ended is due"
    for pk in keys.list_partitions(TENANT, "OPENRUNS"):
        assert world.data.table.query(pk, index=Index.LISTS) == [], "a run that has ended is listed as open"


def check_events(world: World, agent_id: str) -> None:
    """Checks that each of the agent's runs has ended, its input is in the log once, and its event log has no gap and ends with
    `done`.
    """
    log = world.log(agent_id)
    rows = {row.id for row in log}
    for listed in world.stores.runs.walk([agent_id]):
        state = world.run(keys.last_part(str(listed["sk"])))
        run = state.run
        said = [row.text() for row in log if row.run_id == run.id and row.role in SENT and row.step_id is None]
        kept = [row.text() for row in run.input]
        assert said + kept == world.data.sent.get(run.id, said or kept), f"the log has {said}, the run {kept}"
        answers = any(row.run_id == run.id and row.role == "approval" and not row.tool_calls for row in log)
        assert said + kept or answers, f"the input of {run.id} is lost"
        assert state.ended, f"{run.id} is {run.status}"
        assert run.stop_reason is not None
        assert listed["status"] == run.status
        assert not kept or run.status is RunStatus.CANCELLED
        events = world.stores.runs.events(run.id, 0, world.clock.now())
        assert [seq for seq, _ in events] == list(range(1, state.last_seq + 1)), f"{run.id}: {events} up to {state.last_seq}"
        assert [seq for seq, event in events if isinstance(event, DoneEvent)] == [state.last_seq]
        assert all(event.message_id in rows for _, event in events if isinstance(event, MessageEvent))
