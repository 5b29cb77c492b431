"""Runs that stream tokens, over a `World`: their requests and their event logs."""

from __future__ import annotations

import threading

from hibernaut.schemas.runs.events import DeltaEvent, RunEvent
from hibernaut.schemas.runs.send import LettaStreamingRequest, MessageCreate
from hibernaut.services.sending.sending import SendRequest
from tests.support.world import World

PATIENCE = 20.0
"""Seconds after which a missing event counts as a failure."""


def begun(world: World, agent_id: str, text: str = "hello") -> str:
    """Accept and start a request for a stream of tokens; returns the run's id. No step is executed yet."""
    body = LettaStreamingRequest(messages=[MessageCreate(role="user", content=text)], streaming=True, stream_tokens=True)
    accepted = world.sending.accept(SendRequest(agent_id, body, "send_message_streaming", world.ids.token()))
    world.data.sent[accepted.run_id] = [text]
    if not accepted.waits:
        world.sending.start(accepted.run_id)
    return accepted.run_id


def streamed(world: World, agent_id: str, text: str = "hello") -> str:
    """Send a request for a stream of tokens and execute its run to the end; returns the run's id."""
    run_id = begun(world, agent_id, text)
    world.workflow.drive()
    return run_id


def events(world: World, run_id: str) -> list[RunEvent]:
    """The event log of a run. Checks that its numbers have no gap."""
    numbered = world.stores.runs.events(run_id, 0, world.clock.now())
    assert [seq for seq, _ in numbered] == list(range(1, len(numbered) + 1))
    return [event for _, event in numbered]


def deltas(world: World, run_id: str) -> list[DeltaEvent]:
    return [event for event in events(world, run_id) if isinstance(event, DeltaEvent)]


class Notices:
    """Waits until the log of a run is written."""

    def __init__(self, world: World, run_id: str) -> None:
        self._came = threading.Event()
        self.leave = world.host.signal.watch(run_id, self._came.set)

    def wait(self) -> None:
        """Wait until the next write after the last one that was waited for."""
        assert self._came.wait(PATIENCE)
        self._came.clear()
