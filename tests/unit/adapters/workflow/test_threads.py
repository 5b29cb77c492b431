"""The workflow of the house at home: what follows a run, what ends one that fails, and what is left when the process closes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hibernaut.adapters.workflow.threads import LOOKS, TRIES, Drive, Threads
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.runs.workflow import Next, RunRef
from hibernaut.ports.storage.table import ConditionFailed, Contended, OutcomeUnknown, TableError, TooLarge
from hibernaut.schemas.errors import MasterKeyUnavailable, SecretsUnavailable, StoreUnavailable
from hibernaut.schemas.faults.record_faults import BlobsUnavailable
from hibernaut.schemas.stop import StopReason
from tests.support.scripted_model import calls, says
from tests.support.settled import check_settled
from tests.support.world import World, data_in

RUN = RunRef("default", "run-1")
PATIENCE = 60


class Driven:
    """Answers each advance with the next of these; what is an error is raised. `compacts` is the same for compactions."""

    def __init__(self, *answers: Next | Exception, compacts: Sequence[Next | Exception] = ()) -> None:
        self._answers: Iterator[Next | Exception] = iter(answers)
        self._compacts = iter(compacts)
        self.advanced, self.closed, self.compacted, self.dropped = 0, 0, 0, 0
        self.ended = threading.Event()

    def advance(self, _run: RunRef) -> Next:
        self.advanced += 1
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        if answer != "advance":
            self.ended.set()
        return answer

    def compact(self, _run: RunRef) -> Next:
        self.compacted += 1
        answer = next(self._compacts)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def drop(self, run: RunRef) -> Next:
        self.dropped += 1
        return self.advance(run)

    def close(self, _run: RunRef) -> None:
        self.closed += 1
        self.ended.set()


def threads_for(driven: Driven) -> Threads:
    threads = Threads(pause=0)
    threads.bind(Drive(driven.advance, driven.close, driven.compact, driven.drop))
    return threads


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("last", ["finished", "waiting"])
def test_a_run_is_followed_until_there_is_nothing_more_to_do_here(inline: bool, last: Next) -> None:
    driven = Driven("advance", "advance", last)
    threads = threads_for(driven)
    threads.start(RUN, inline=inline)
    assert driven.ended.wait(PATIENCE)
    threads.close()
    assert (driven.advanced, driven.closed) == (3, 0)


def test_a_run_that_waits_for_a_thread_waits_once_however_often_it_is_started() -> None:
    """The sweep starts it every minute; all threads are at something long."""

    class Long(Driven):
        begun, goes_on = threading.Event(), threading.Event()

        def advance(self, run: RunRef) -> Next:
            if run != RUN:
                self.begun.set()
                self.goes_on.wait()
                return "finished"
            return super().advance(run)

    driven = Long(*["finished"] * 9)
    threads = Threads(1, pause=0)
    threads.bind(Drive(driven.advance, driven.close, driven.compact, driven.drop))
    threads.start(RunRef("default", "run-0"))
    assert driven.begun.wait(PATIENCE)
    for _ in range(5):
        threads.start(RUN)
    driven.goes_on.set()
    assert driven.ended.wait(PATIENCE)
    driven.ended.clear()
    threads.start(RUN)
    assert driven.ended.wait(PATIENCE)
    threads.close()
    assert driven.advanced == 2


def test_a_window_is_compacted_before_the_next_step() -> None:
    driven = Driven("compact", "advance", "compact", "finished", compacts=["advance", "advance"])
    threads = threads_for(driven)
    threads.start(RUN, inline=True)
    threads.close()
    assert (driven.advanced, driven.compacted, driven.dropped, driven.closed) == (4, 2, 0, 0)


def test_where_a_compaction_fails_the_step_makes_room_by_itself() -> None:
    driven = Driven("compact", "advance", "finished", compacts=[RuntimeError("no memory")])
    threads = threads_for(driven)
    threads.start(RUN, inline=True)
    threads.close()
    assert (driven.advanced, driven.compacted, driven.dropped, driven.closed) == (3, 1, 1, 0)


def test_a_compaction_that_another_holds_is_left_to_it() -> None:
    driven = Driven("compact", "busy", "finished", compacts=["busy"])
    threads = threads_for(driven)
    threads.start(RUN, inline=True)
    threads.close()
    assert (driven.advanced, driven.compacted, driven.dropped, driven.closed) == (3, 1, 0, 0)


def test_a_step_that_another_attempt_holds_is_asked_for_again_and_then_left_to_it() -> None:
    soon = Driven("busy", "busy", "advance", "busy", "finished")
    threads_for(soon).start(RUN, inline=True)
    assert (soon.advanced, soon.closed) == (5, 0)
    never = Driven(*["busy"] * 100)
    threads_for(never).start(RUN, inline=True)
    assert (never.advanced, never.closed) == (LOOKS + 1, 0)


def test_a_run_whose_steps_fail_again_and_again_is_closed_and_one_failure_is_forgotten_by_the_next_success() -> None:
    failing = Driven(*[ValueError("a mistake of ours")] * TRIES)
    threads_for(failing).start(RUN, inline=True)
    assert (failing.advanced, failing.closed) == (TRIES, 1)
    mixed: list[Next | Exception] = [ValueError("once"), "advance"] * TRIES
    recovering = Driven(*mixed, "finished")
    threads_for(recovering).start(RUN, inline=True)
    assert recovering.closed == 0


@pytest.mark.parametrize(
    ("error", "closed"),
    [
        (Contended("throttled"), 0),
        (OutcomeUnknown("no answer"), 0),
        (StoreUnavailable("busy", 2), 0),
        (MasterKeyUnavailable("KMS is throttled", 2), 0),
        (SecretsUnavailable("Parameter Store is throttled", 2), 0),
        (TableError("disk I/O error"), 0),
        (OSError("no space left"), 0),
        (BlobsUnavailable("no space left", 2), 0),
        (TooLarge("5 MB"), 1),
        (ConditionFailed({}), 1),
        (ValueError("a mistake of ours"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fault_of_the_table_leaves_a_run_to_the_sweep_and_one_of_the_step_closes_it(error: Exception, closed: int) -> None:
    driven = Driven(*[error] * TRIES)
    threads_for(driven).start(RUN, inline=True)
    assert (driven.advanced, driven.closed) == (TRIES, closed)


def test_nothing_starts_after_the_close() -> None:
    driven = Driven("finished")
    threads = threads_for(driven)
    threads.close()
    for inline in (True, False):
        threads.start(RUN, inline=inline)
    assert driven.advanced == 0


@pytest.mark.parametrize("inline", [True, False])
def test_a_close_in_the_middle_of_a_run_lets_the_step_finish_and_leaves_the_rest_to_the_next_process(
    inline: bool, tmp_path: Path
) -> None:
    asked, closing = threading.Event(), threading.Event()

    def script(request: ModelRequest, number: int) -> ModelReply:
        asked.set()
        assert closing.wait(PATIENCE)
        return calls(("ring", {"x": "twice"})) if number == 1 else says("done")

    world = World(data_in(tmp_path, script))
    agent_id = world.make_agent(tools=("ring",))
    threads = Threads()
    advance = lambda run: world.engines.of(run.tenant).turns.advance(run.run_id).next  # noqa: E731
    threads.bind(Drive(advance, lambda _: None, advance, advance))
    run_id = world.accept(agent_id, "hello").run_id
    request = threading.Thread(target=threads.start, args=(RunRef("default", run_id),), kwargs={"inline": inline})
    request.start()
    assert asked.wait(PATIENCE)
    closer = threading.Thread(target=threads.close)
    closer.start()
    while not threads._stopping.is_set():
        pass
    closing.set()
    for thread in (closer, request):
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert len(world.models.requests) == 1
    assert not world.run(run_id).ended
    assert world.run(run_id).lease == 0, "the next process would wait for this one"
    later = world.reborn()
    later.sweep()
    assert later.run(run_id).run.stop_reason is StopReason.END_TURN
    check_settled(later, agent_id)
