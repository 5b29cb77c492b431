"""Workers at a compaction: one that dies, two at once, one whose run ends under its hands, one that comes too late."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.turns.compaction import LONGEST
from tests.support.scripted_model import says
from tests.support.settled import check_settled
from tests.support.talk import LONG, Talk, is_summary


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


def test_a_worker_that_dies_between_summary_and_transaction_leaves_nothing(talk: Talk) -> None:
    class Killed(BaseException):
        """The process is gone."""

    def dies(place: str) -> None:
        if place == "after model" and is_summary(talk.world.models.requests[-1]):
            raise Killed

    talk.world.models.at = dies
    with pytest.raises(Killed):
        talk.until_full()
    assert not [row for row in talk.world.log(talk.agent) if row.role == "summary"]
    talk.world.models.at = lambda _: None
    reborn = talk.world.reborn()
    reborn.sweep()
    talk.world = reborn
    check_settled(reborn, talk.agent)
    assert len([row for row in reborn.log(talk.agent) if row.role == "summary"]) == 1
    assert talk.in_window()[1].role == "summary"


def test_of_two_workers_at_one_compaction_only_one_commits(talk: Talk) -> None:
    second = talk.world.reborn(alone=False)
    answers: list[str] = []

    def answer(_: ModelRequest) -> ModelReply:
        if len(talk.summaries) == 1:
            (owner,) = {talk.head().owner}
            assert owner is not None
            assert second.chain.compactions.compact(owner).next == "busy"
            talk.world.clock.sleep(2 * LONGEST)
            answers.append(second.chain.compactions.compact(owner).next)
        return says("Oslo")

    talk.answer = answer
    talk.until_full()
    talk.world.clock.sleep(1000)
    talk.world.sweep()
    assert answers == ["advance"]
    check_settled(talk.world, talk.agent)
    assert len([row for row in talk.world.log(talk.agent) if row.role == "summary"]) == 1


def test_a_run_that_is_cancelled_while_its_window_is_compacted_leaves_no_summary(talk: Talk) -> None:
    def answer(_: ModelRequest) -> ModelReply:
        talk.world.chain.termination.end(talk.head().owner or "", StopReason.CANCELLED)
        return says("Oslo")

    talk.answer = answer
    for _ in range(30):
        run_id = talk.world.send(talk.agent, LONG)
        if talk.summaries:
            break
    assert talk.world.run(run_id).run.status is RunStatus.CANCELLED
    check_settled(talk.world, talk.agent)
    assert not [row for row in talk.world.log(talk.agent) if row.role == "summary"]


def test_a_doubled_start_finds_nothing_to_do(talk: Talk) -> None:
    run_id = talk.world.begin(talk.agent, "hello")
    before = talk.world.run(run_id)
    assert talk.world.chain.compactions.compact(run_id) == ("advance", 0, 0)
    assert talk.world.run(run_id) == before
    talk.world.workflow.drive()
    assert talk.world.chain.compactions.compact(run_id).next == "finished"
    waiting = [talk.world.begin(talk.agent, "one"), talk.world.begin(talk.agent, "two")][1]
    assert talk.world.chain.compactions.compact(waiting).next == "waiting"
    with pytest.raises(HibernautError):
        talk.world.chain.compactions.compact(run_id.replace("run-0", "run-1"))
