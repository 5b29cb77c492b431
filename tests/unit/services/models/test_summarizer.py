"""The calls of a summariser: hung up on like those of a step once nobody wants the summary, and their tokens counted once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.errors import Busy, ModelConnection, NotFound
from hibernaut.schemas.models.model_settings import CompactionMode, CompactionSettings
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.usage import Usage
from tests.support.scripted_model import USAGE, Streamed, in_pieces, says
from tests.support.settled import check_settled
from tests.support.talk import LONG, Answer, Talk, raises, summary
from tests.support.tokens import PATIENCE
from tests.support.world import World

SUMMARY = "They spoke of Oslo."


def silent(talk: Talk, held: Callable[[], None], after: int = 0) -> Answer:
    """A summariser that says some pieces, does `held`, and is silent until it is hung up on."""

    def before(at: int) -> None:
        if at == after + 1:
            held()
            assert talk.world.models.broken_off.wait(PATIENCE), "the summariser is hung up on while it is silent"

    return lambda _: Streamed(in_pieces(says(SUMMARY)), says(SUMMARY), before)


def until_summarised(talk: Talk) -> str:
    """Talk until a summary was asked for; the id of the run in which that happened."""
    for _ in range(30):
        run_id = talk.world.send(talk.agent, LONG)
        if talk.summaries:
            return run_id
    raise AssertionError("the window never fills")


@pytest.mark.parametrize("mode", ["sliding_window", "self_compact_all"])
@pytest.mark.parametrize("pieces", [0, 2])
def test_a_cancel_hangs_up_on_a_silent_summariser_and_nothing_of_the_summary_is_kept(
    mode: CompactionMode, pieces: int, tmp_path: Path
) -> None:
    def cancelled() -> None:
        talk.world.chain.termination.end(talk.head().owner or "", StopReason.CANCELLED)

    talk = Talk(tmp_path)
    talk.set(compaction_settings=CompactionSettings(mode=mode))
    talk.answer = silent(talk, cancelled, pieces)
    run_id = until_summarised(talk)
    run = talk.world.run(run_id).run
    assert talk.world.models.broken_off.is_set()
    assert (run.status, run.steps, run.summaries) == (RunStatus.CANCELLED, 0, Usage())
    assert len(talk.summaries) == 1, "nobody else is asked instead"
    assert talk.in_window()[-1].text() == LONG, "the user's message is kept"
    assert not [row for row in talk.world.log(talk.agent) if row.role == "summary"]
    check_settled(talk.world, talk.agent)
    talk.answer = summary()
    talk.check(talk.world.send(talk.agent, "go on"))


def test_a_worker_looks_by_itself_whether_the_run_that_it_makes_room_for_was_cancelled_elsewhere(tmp_path: Path) -> None:
    def cancelled() -> None:
        World(talk.world.data, holder="host:2").chain.termination.end(talk.head().owner or "", StopReason.CANCELLED)

    talk = Talk(tmp_path)
    talk.world = World(talk.world.data, look=0.01)
    talk.answer = silent(talk, cancelled)
    assert talk.world.run(until_summarised(talk)).run.status is RunStatus.CANCELLED
    assert talk.world.models.broken_off.is_set()
    check_settled(talk.world, talk.agent)


def test_a_run_that_is_cancelled_while_a_busy_summariser_is_let_rest_asks_it_no_more(tmp_path: Path) -> None:
    talk = Talk(tmp_path)

    def busy(_: ModelRequest) -> ModelReply:
        talk.world.chain.termination.end(talk.head().owner or "", StopReason.CANCELLED)
        raise ModelConnection("no connection")

    talk.answer = busy
    assert talk.world.run(until_summarised(talk)).run.status is RunStatus.CANCELLED
    assert len(talk.summaries) == 1
    check_settled(talk.world, talk.agent)


def filled(folder: Path) -> Talk:
    talk = Talk(folder, window=100_000)
    for _ in range(4):
        talk.world.send(talk.agent, LONG)
    talk.world = World(talk.world.data, look=0.01)
    return talk


def test_a_summary_by_request_is_hung_up_on_when_a_message_comes_between(tmp_path: Path) -> None:
    talk = filled(tmp_path)
    talk.answer = silent(talk, lambda: runs.append(talk.world.begin(talk.agent, "me first")))
    runs: list[str] = []
    with pytest.raises(Busy) as refused:
        talk.world.chain.compactions.on_request(talk.agent)
    assert [refused.value.run_id] == runs
    assert len(talk.summaries) == 1
    talk.world.workflow.drive()
    check_settled(talk.world, talk.agent)
    assert not [row for row in talk.world.log(talk.agent) if row.role == "summary"]


def test_a_summary_by_request_is_hung_up_on_when_its_conversation_goes(tmp_path: Path) -> None:
    def gone() -> None:
        talk.world.stores.writer.write(talk.world.stores.deletion.head(talk.head()), token="t")

    talk = filled(tmp_path)
    talk.answer = silent(talk, gone)
    with pytest.raises(NotFound):
        talk.world.chain.compactions.on_request(talk.agent)


def test_the_tokens_of_summaries_are_counted_apart_from_those_of_steps(tmp_path: Path) -> None:
    answers: list[Answer] = [summary(""), raises(ModelConnection("cut")), summary()]
    talk = Talk(tmp_path, lambda request: answers[min(len(talk.summaries), 3) - 1](request))
    run = talk.world.run(talk.until_full()).run
    assert talk.in_window()[1].role == "summary"
    assert run.summaries.total_tokens == (len(talk.summaries) - 1) * USAGE.total_tokens, "one broke off, one said nothing"
    assert run.usage == Usage(), "the steps' provider reports none"
    assert talk.world.response(run.id).usage.total_tokens == 0


def test_the_tokens_of_a_summariser_that_never_gave_a_summary_are_counted_too(tmp_path: Path) -> None:
    talk = Talk(tmp_path, summary(""))
    run = talk.world.run(talk.until_full()).run
    assert talk.in_window()[1].role == "user"
    assert run.summaries.total_tokens == len(talk.summaries) * USAGE.total_tokens > 0


def test_a_compaction_that_is_done_again_after_a_crash_counts_its_tokens_once(tmp_path: Path) -> None:
    class Killed(BaseException):
        """The process is gone."""

    def dies(place: str) -> None:
        if place == "after model" and talk.summaries:
            raise Killed

    talk = Talk(tmp_path)
    talk.world.models.at = dies
    with pytest.raises(Killed):
        until_summarised(talk)
    talk.world.models.at = lambda _: None
    talk.world = talk.world.reborn()
    talk.world.sweep()
    assert len(talk.summaries) == 2
    (made,) = [row for row in talk.world.log(talk.agent) if row.role == "summary"]
    assert talk.world.run(made.run_id or "").run.summaries == USAGE


def test_a_request_for_a_summary_is_answered_with_what_it_used(tmp_path: Path) -> None:
    talk = filled(tmp_path)
    done = talk.world.chain.compactions.on_request(talk.agent, CompactionSettings(mode="all"))
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (USAGE.prompt_tokens, USAGE.completion_tokens)
    again = talk.world.chain.compactions.on_request(talk.agent)
    assert again.usage.total_tokens == 0, "nobody was asked"
