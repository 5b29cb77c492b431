"""A table that does not answer is no fault of the model's, nor of the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Change, Contended, Put
from hibernaut.schemas.errors import StoreUnavailable
from hibernaut.schemas.runs.send import LettaRequest, LettaStreamingRequest, MessageCreate
from hibernaut.schemas.stop import RunStatus
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.services.sending.sending import SendRequest
from tests.support.scripted_model import Streamed, calls, in_pieces, in_turn, says
from tests.support.tables import CountingTable, PassesOn
from tests.support.world import World, data_in


class ThrottledEvents(PassesOn):
    """Takes everything but what is told while a model speaks, as long as it is `throttled`: a batch of events by itself."""

    throttled = False

    def write(self, *changes: Change) -> None:
        if self.throttled and len(changes) == 1 and isinstance(changes[0], Put) and changes[0].key.sk.startswith("EV#"):
            raise Contended("throttled")
        super().write(*changes)


def test_a_run_whose_tokens_cannot_be_written_stays_open_and_ends_when_they_can(tmp_path: Path) -> None:
    reply = says("I am here.")
    tables: list[ThrottledEvents] = []

    def wrap(table: PassesOn) -> ThrottledEvents:
        tables.append(ThrottledEvents(table))
        return tables[-1]

    world = World(data_in(tmp_path, in_turn(Streamed(in_pieces(reply), reply))), wrap=wrap)  # type: ignore[arg-type]
    agent_id = world.make_agent()
    asked = LettaStreamingRequest(messages=[MessageCreate(role="user", content="hello")], stream_tokens=True)
    run_id = world.sending.accept(SendRequest(agent_id, asked, "send_message", "digest")).run_id
    tables[0].throttled = True
    with pytest.raises(StoreUnavailable):
        world.chain.turns.advance(run_id)
    assert world.run(run_id).run.status is RunStatus.RUNNING
    tables[0].throttled = False
    assert world.advance(run_id) == "finished"
    assert world.run(run_id).run.status is RunStatus.COMPLETED


def test_a_message_that_interrupts_is_accepted_although_the_wait_that_it_ends_cannot_be_read(tmp_path: Path) -> None:
    throttled = False

    def at(_: int, moment: str) -> None:
        nonlocal throttled
        if throttled and moment.startswith("before"):
            raise Contended("throttled")
        throttled = throttled or (armed and moment == "after write")

    armed = False
    data = data_in(tmp_path, in_turn(calls(("ring", {"x": "once"})), says("done")))
    world = World(data, wrap=lambda table: CountingTable(table, at))
    agent_id = world.make_agent(tools=("ring",), rules=[RequiresApprovalToolRule(tool_name="ring")])
    world.send(agent_id, "hello")
    armed = True
    body = LettaRequest(input="never mind", when_busy="interrupt")
    accepted = world.sending.accept(SendRequest(agent_id, body, "send_message", "digest"))
    assert throttled
    armed = throttled = False
    assert world.run(accepted.run_id).run.status == RunStatus.RUNNING
