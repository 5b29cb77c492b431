"""Compacting a conversation because somebody asks for it: no run holds it, and where it does not help nothing has changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hibernaut.ports.model import ModelReply
from hibernaut.schemas.errors import Busy, InvalidArgument, ModelConnection, NotFound
from hibernaut.schemas.models.model_settings import CompactionSettings
from tests.support.scripted_model import says
from tests.support.settled import check_settled, check_valid
from tests.support.talk import LONG, Talk, raises, summary
from tests.support.world import World, data_in


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    talk = Talk(tmp_path, window=100_000)
    for _ in range(4):
        talk.world.send(talk.agent, LONG)
    return talk


def compacted(talk: Talk, **settings: object) -> tuple[str, int, int]:
    given = CompactionSettings(**settings) if settings else None  # type: ignore[arg-type]
    done = talk.world.chain.compactions.on_request(talk.agent, given)
    return done.summary, done.num_messages_before, done.num_messages_after


def test_a_conversation_is_compacted_by_request(talk: Talk) -> None:
    before = talk.in_window()
    assert compacted(talk) == ("They spoke of Oslo.", 9, 7)
    window = talk.in_window()
    assert [row.role for row in window[:2]] == ["system", "summary"]
    assert [row.id for row in window[2:]] == [row.id for row in before[4:]]
    assert window[0].id == before[0].id
    assert window[1].run_id is None
    assert json.loads(window[1].text())["compaction_stats"]["trigger"] == "summarize"
    assert "3 previous messages" in window[0].text()
    talk.world.send(talk.agent, "go on")
    assert [row.id for row in talk.steps[-1].messages[:2]] == [window[1].id, window[2].id]
    check_valid(talk.in_window())
    check_settled(talk.world, talk.agent)


def test_settings_of_the_request_count_over_the_agents(talk: Talk) -> None:
    talk.set(compaction_settings=CompactionSettings(prompt="Rhyme.", clip_chars=4))
    assert compacted(talk, mode="all") == ("They... [summary truncated to fit]", 9, 2)
    assert "Rhyme." not in talk.summaries[-1].system, "another mode has words of its own"
    assert [row.role for row in talk.in_window()] == ["system", "summary"]


def test_compacting_what_is_only_a_summary_answers_with_it(talk: Talk) -> None:
    compacted(talk, mode="all")
    assert compacted(talk) == ("They spoke of Oslo.", 2, 2)
    assert len(talk.summaries) == 1


def test_where_nothing_would_be_fewer_it_is_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    with pytest.raises(InvalidArgument):
        compacted(talk)
    assert talk.summaries == []
    talk.world.send(talk.agent, "hello")
    assert compacted(talk)[1:] == (3, 2), "all of it, where no share of it would do"


def test_where_the_summariser_fails_nothing_has_changed(talk: Talk) -> None:
    head, window = talk.head(), talk.in_window()
    talk.answer = raises(ModelConnection("no connection"))
    with pytest.raises(ModelConnection):
        compacted(talk)
    assert (talk.head(), talk.in_window()) == (head, window)
    talk.answer = summary("")
    with pytest.raises(Exception, match="without a summary"):
        compacted(talk)
    assert (talk.head(), talk.in_window()) == (head, window)


def test_a_conversation_that_a_run_holds_is_left_alone(talk: Talk) -> None:
    run_id = talk.world.begin(talk.agent, "hello")
    with pytest.raises(Busy) as refused:
        compacted(talk)
    assert refused.value.run_id == run_id
    assert talk.summaries == []
    talk.world.workflow.drive()

    def meanwhile(_: object) -> ModelReply:
        talk.world.begin(talk.agent, "me first")
        return says("late")

    talk.answer = meanwhile
    with pytest.raises(Busy):
        compacted(talk)
    talk.world.workflow.drive()
    check_settled(talk.world, talk.agent)
    assert not [row for row in talk.world.log(talk.agent) if row.role == "summary"]


def test_a_conversation_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, lambda *_: says("hi")))
    for head_id in ("agent-00000000-0000-4000-8000-000000000000", "conv-00000000-0000-4000-8000-000000000000"):
        with pytest.raises(NotFound, match=head_id):
            world.chain.compactions.on_request(head_id)


def test_a_plan_says_what_a_compaction_drops_and_changes_nothing(talk: Talk) -> None:
    before, asked = talk.in_window(), len(talk.world.models.requests)
    plan = talk.world.chain.compactions.planned(talk.agent)
    assert [row.id for row in plan.dropped] == [row.id for row in before[1:4]]
    assert plan.dropped[0].text == LONG[:200]
    assert (plan.mode, plan.context_window, plan.threshold) == ("sliding_window", 100_000, 90_000)
    assert plan.tokens - plan.tokens_after == pytest.approx(sum(row.tokens for row in plan.dropped), abs=3)
    assert plan.summary_limit > 0
    assert talk.in_window() == before
    assert len(talk.world.models.requests) == asked
    assert compacted(talk) == ("They spoke of Oslo.", plan.num_messages, plan.num_messages_after)
    assert [row.id for row in talk.in_window()[2:]] == [row.id for row in before[4:]]


def test_a_plan_of_a_window_that_cannot_shrink_drops_nothing(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    plan = talk.world.chain.compactions.planned(talk.agent)
    assert (plan.mode, plan.dropped, plan.summary_limit) == (None, [], 0)
    assert plan.tokens == plan.tokens_after
    assert plan.num_messages == plan.num_messages_after
    with pytest.raises(NotFound):
        talk.world.chain.compactions.planned("agent-00000000-0000-4000-8000-000000000000")
