"""A reply in the run's event log while the model writes it: what is written when, by whom, and that it ends well whatever
happens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hibernaut.ports.model import Delta, ModelReply, ModelRequest
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.content import ReasoningContent
from hibernaut.schemas.errors import ModelConnection
from hibernaut.schemas.runs.events import DoneEvent, ErrorEvent, MessageEvent, StopEvent, UsageEvent
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.schemas.usage import LettaUsageStatistics
from tests.support.scripted_model import Script, Streamed, calls, in_pieces, in_turn, nothing, says
from tests.support.settled import check_settled
from tests.support.tables import CountingTable, LosesResponses
from tests.support.tokens import PATIENCE, Notices, begun, deltas, events, streamed
from tests.support.world import World, data_in

RING = calls(("ring", {"x": "twice"}), text="Let me ring.")
SPEECH = "A rather long answer, in several pieces."


def opened(folder: Path, script: Script, **agent: object) -> tuple[World, str]:
    world = World(data_in(folder, script))
    return world, world.make_agent(blocks={"human": "Ann"}, tools=("ring", "send_message"), **agent)  # type: ignore[arg-type]


def said(world: World, run_id: str) -> str:
    return "".join(delta.text for delta in deltas(world, run_id) if delta.message_type == "assistant_message")


def test_a_reply_is_told_before_its_rows_stand_in_the_log_and_under_their_ids(tmp_path: Path) -> None:
    thoughtful = says(SPEECH, reasoning=(ReasoningContent(reasoning="Hm, so."),))
    world, agent_id = opened(tmp_path, in_turn(thoughtful))
    run_id = streamed(world, agent_id)
    told, row = deltas(world, run_id), world.log(agent_id)[-1]
    assert {delta.message_id for delta in told} == {row.id}
    assert {(delta.step_id, delta.at) for delta in told} == {(row.step_id, row.created_at)}
    assert ["".join(delta.text for delta in told if delta.index == index) for index in (0, 1)] == ["Hm, so.", SPEECH]
    after = events(world, run_id)[len(told) :]
    assert [type(event) for event in after] == [MessageEvent, MessageEvent, StopEvent, UsageEvent, DoneEvent]
    assert all(event.streamed for event in after if isinstance(event, MessageEvent))
    check_settled(world, agent_id)


def test_a_run_that_streams_no_tokens_has_no_deltas_in_its_log(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(RING, says(SPEECH)))
    run_id = world.send(agent_id, "hello")
    assert deltas(world, run_id) == []
    assert not any(event.streamed for event in events(world, run_id) if isinstance(event, MessageEvent))


def test_calls_are_told_and_their_returns_come_whole(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    run_id = streamed(world, agent_id)
    called = [delta for delta in deltas(world, run_id) if delta.message_type == "tool_call_message"]
    assert (called[0].name, called[0].text, "".join(delta.text for delta in called)) == ("ring", "", '{"x": "twice"}')
    whole = [(event.message_id, event.streamed) for event in events(world, run_id) if isinstance(event, MessageEvent)]
    rows = world.log(agent_id)[2:]
    assert whole == [(rows[0].id, True), (rows[0].id, True), (rows[1].id, False), (rows[2].id, True)]


def test_what_a_legacy_agent_says_is_told_and_so_are_its_thoughts(tmp_path: Path) -> None:
    talk = calls(("send_message", {"thinking": "Be kind.", "message": "Hello, Ann!"}))
    world, agent_id = opened(tmp_path, in_turn(talk), kind=AgentType.MEMGPT)
    run_id = streamed(world, agent_id)
    assert said(world, run_id) == "Hello, Ann!"
    assert "".join(delta.text for delta in deltas(world, run_id) if delta.message_type == "reasoning_message") == "Be kind."
    shown = world.response(run_id).messages
    assert [(one.message_type, getattr(one, "content", None)) for one in shown] == [
        ("reasoning_message", None),
        ("assistant_message", "Hello, Ann!"),
    ]
    assert all(event.streamed for event in events(world, run_id) if isinstance(event, MessageEvent))


def test_a_call_that_waits_for_approval_is_told_under_the_row_that_asks_for_it(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(RING), rules=[RequiresApprovalToolRule(tool_name="ring")])
    run_id = streamed(world, agent_id)
    asking = world.log(agent_id)[-1]
    told = [delta for delta in deltas(world, run_id) if delta.message_type == "approval_request_message"]
    assert ({delta.message_id for delta in told}, asking.role) == ({asking.id}, "approval")
    assert "".join(delta.text for delta in told) == '{"x": "twice"}'
    assert world.run(run_id).run.stop_reason is StopReason.REQUIRES_APPROVAL


def test_the_first_piece_is_written_at_once_and_the_next_ones_together(tmp_path: Path) -> None:
    seen: list[int] = []

    def before(number: int) -> None:
        if number == 2:
            notices.wait()
            seen.append(len(deltas(world, run_id)))
        if number == 4:
            world.clock.sleep(0.02)
        if number == 5:
            notices.wait()
            seen.append(len(deltas(world, run_id)))

    pieces = [Delta("text", piece) for piece in ("a", "b", "c", "d", "e", "f")]
    world, agent_id = opened(tmp_path, lambda *_: Streamed(pieces, says("abcdef"), before))
    run_id = begun(world, agent_id)
    notices = Notices(world, run_id)
    world.workflow.drive()
    assert seen == [1, 2]
    assert [delta.text for delta in deltas(world, run_id)] == ["a", "bcd", "ef"]
    check_settled(world, agent_id)


def test_a_delta_whose_answer_is_lost_is_not_told_twice(tmp_path: Path) -> None:
    """Writes 1 to 3 accept the run and take its step; 4 and on are the deltas and the step."""
    for lost in range(3, 9):
        data = data_in(tmp_path / str(lost), in_turn(says(SPEECH)))
        agent_id = World(data).make_agent()
        world = World(data, wrap=lambda table, lost=lost: LosesResponses(table, after=[lost]))
        run_id = streamed(world, agent_id)
        assert said(world, run_id) == SPEECH
        check_settled(world, agent_id)


def test_deltas_go_on_behind_what_somebody_else_has_written(tmp_path: Path) -> None:
    """A dead attempt's delta, or a message of another worker, may stand at the number that is next."""

    def before(number: int) -> None:
        if number == 1:
            stray = UsageEvent(usage=LettaUsageStatistics())
            world.stores.writer.write(world.stores.runs.put_events(run_id, 1, [stray], world.clock.now()))

    world, agent_id = opened(tmp_path, lambda *_: Streamed(in_pieces(says(SPEECH)), says(SPEECH), before))
    run_id = begun(world, agent_id)
    world.workflow.drive()
    assert isinstance(events(world, run_id)[0], UsageEvent)
    assert said(world, run_id) == SPEECH
    check_settled(world, agent_id)


def test_a_stream_that_breaks_midway_ends_its_run_with_one_error_and_is_not_asked_for_again(tmp_path: Path) -> None:
    broken = Streamed(in_pieces(says(SPEECH))[:3], ModelConnection("it broke"))
    world, agent_id = opened(tmp_path, in_turn(broken, says("not this one"), says("the next run's")))
    run_id = streamed(world, agent_id)
    assert len(world.models.requests) == 1
    assert said(world, run_id) == SPEECH[:21]
    last = events(world, run_id)[-3:]
    assert [type(event) for event in last] == [StopEvent, ErrorEvent, DoneEvent]
    assert isinstance(last[1], ErrorEvent)
    assert last[1].error_type == "llm_connection"
    assert world.run(run_id).run.stop_reason is StopReason.LLM_API_ERROR
    assert world.run(streamed(world, agent_id, "again")).run.status is RunStatus.COMPLETED
    check_settled(world, agent_id)


def test_a_reply_that_broke_off_is_not_asked_for_again_by_a_run_that_streams_nothing_either(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(Streamed(in_pieces(says(SPEECH))[:1], ModelConnection("it broke"))))
    run_id = world.send(agent_id, "hello")
    assert (len(world.models.requests), world.run(run_id).run.stop_reason) == (1, StopReason.LLM_API_ERROR)


def hangs_after(pieces: int, held: Callable[[], None]) -> Script:
    """Tells some pieces, does `held`, and says nothing more until it is hung up on."""

    def script(request: ModelRequest, number: int) -> ModelReply | Streamed:
        if number > 1:
            return says("the next run's")

        def before(at: int) -> None:
            if at == pieces + 1:
                held()

        return Streamed(in_pieces(says(SPEECH)), says(SPEECH), before)

    return script


@pytest.mark.parametrize("pieces", [0, 1, 3])
@pytest.mark.parametrize("tokens", [True, False])
def test_a_cancel_stops_a_worker_whose_model_hangs_and_nothing_is_told_after_the_end(
    pieces: int, tokens: bool, tmp_path: Path
) -> None:
    def held() -> None:
        world.chain.termination.end(run_id, StopReason.CANCELLED)
        assert world.models.broken_off.wait(PATIENCE), "the model is hung up on while it hangs"

    world, agent_id = opened(tmp_path, hangs_after(pieces, held))
    run_id = begun(world, agent_id) if tokens else world.begin(agent_id, "hello")
    assert world.advance(run_id) == "finished"
    assert SPEECH.startswith(said(world, run_id))
    assert isinstance(events(world, run_id)[-1], DoneEvent)
    assert [row.role for row in world.log(agent_id)] == ["system", "user"]
    world.workflow.drive()
    world.send(agent_id, "again")
    check_settled(world, agent_id)


def test_a_worker_looks_by_itself_whether_its_run_was_ended_by_another_process(tmp_path: Path) -> None:
    def held() -> None:
        World(data, holder="host:2").chain.termination.end(run_id, StopReason.CANCELLED)
        assert data.models.broken_off.wait(PATIENCE)

    data = data_in(tmp_path, hangs_after(2, held))
    agent_id = World(data).make_agent()
    world = World(data, look=0.01)
    run_id = begun(world, agent_id)
    assert world.advance(run_id) == "finished"
    check_settled(world, agent_id)


def test_a_worker_whose_step_was_taken_over_hangs_up_and_leaves_the_log_to_the_other(tmp_path: Path) -> None:
    def held() -> None:
        while not deltas(world, run_id):
            notices.wait()
        World(data, holder="host:2").sweep()
        over.set()
        assert data.models.broken_off.wait(PATIENCE)

    over = threading.Event()
    data = data_in(tmp_path, hangs_after(2, held))
    agent_id = World(data).make_agent()
    world = World(data, alone=False, look=0.01)
    run_id = begun(world, agent_id)
    notices = Notices(world, run_id)
    assert world.advance(run_id) in ("busy", "finished")
    assert over.wait(PATIENCE)
    told = deltas(world, run_id)
    assert "".join(delta.text for delta in told if delta.message_id == world.log(agent_id)[-1].id) == "the next run's"
    assert len({delta.message_id for delta in told}) == 2, "asked again, the model's words bear fresh ids"
    check_settled(world, agent_id)


def ended_at(folder: Path, at: int) -> bool:
    """End a run before the worker's `at`-th call to its table; whether it made so many. A stray event makes it read where the log
    ends.
    """
    data = data_in(folder, in_turn(says(SPEECH)))
    plain = World(data, holder="host:2")
    agent_id = plain.make_agent()
    run_id = begun(plain, agent_id)
    stray = UsageEvent(usage=LettaUsageStatistics())
    plain.stores.writer.write(plain.stores.runs.put_events(run_id, 1, [stray], plain.clock.now()))
    seen: list[str] = []

    def ends(_number: int, kind: str) -> None:
        seen.append(kind)
        if len(seen) == at:
            plain.chain.termination.end(run_id, StopReason.CANCELLED)

    World(data, wrap=lambda table: CountingTable(table, ends)).advance(run_id)
    assert isinstance(events(plain, run_id)[-1], DoneEvent)
    check_settled(plain, agent_id)
    return len(seen) >= at


def test_wherever_a_run_is_ended_from_outside_nothing_is_told_behind_its_end(tmp_path: Path) -> None:
    at = 1
    while ended_at(tmp_path / str(at), at):
        at += 1
    assert at > 20


def test_a_model_that_drips_for_ever_is_a_time_out(tmp_path: Path) -> None:
    """Each piece half a minute after the last one, and no end."""

    def before(number: int) -> None:
        world.clock.sleep(30.0)
        if world.clock.monotonic() > 720:
            assert world.models.broken_off.wait(PATIENCE)

    def drips(request: ModelRequest, number: int) -> Streamed:
        return Streamed([Delta("text", "x")] * 1000, says("never"), before)

    world, agent_id = opened(tmp_path, drips)
    run_id = streamed(world, agent_id)
    error = world.run(run_id).run.error
    assert error is not None
    assert (error.code, len(world.models.requests)) == ("llm_timeout", 1)
    assert said(world, run_id).startswith("x"), "what was heard is told"
    check_settled(world, agent_id)


def test_a_step_that_begins_at_its_journal_tells_nothing_again(tmp_path: Path) -> None:
    class Died(BaseException):
        pass

    def dies(place: str) -> None:
        if place == "before tool":
            raise Died

    world, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    world.runner.at = dies
    run_id = begun(world, agent_id)
    with pytest.raises(Died):
        world.workflow.drive()
    told = deltas(world, run_id)
    world.runner.at = nothing
    last = world.reborn()
    last.sweep()
    assert [delta for delta in deltas(last, run_id) if delta.step_id == told[0].step_id] == told
    first = world.log(agent_id)[2].id
    whole = [event for event in events(last, run_id) if isinstance(event, MessageEvent) and event.message_id == first]
    assert [event.streamed for event in whole] == [True, True]
    check_settled(last, agent_id)
