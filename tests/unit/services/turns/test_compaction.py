"""A window that is too full: compacted between two steps, by a summary or without one, and the turn goes on whatever the
summariser does.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hibernaut.domain.turn.turn_machine import MAX_COMPACTIONS
from hibernaut.domain.window.window import tokens
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.agents.conversation import Window
from hibernaut.schemas.errors import (
    ContextWindowExceeded,
    InvalidModelResponse,
    ModelConnection,
    ModelNotFound,
    ModelTimeout,
    NotFound,
)
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.models.model_settings import CompactionSettings
from hibernaut.schemas.runs.events import CompactionEvent, MessageEvent
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.usage import Usage
from hibernaut.services.turns.compaction import LONGEST
from tests.support.scripted_model import ScriptedModels, calls, says, serialized
from tests.support.settled import check_settled, check_valid
from tests.support.talk import LONG, WINDOW, Answer, Talk, raises, summary, unmeasured


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


def test_a_summary_takes_the_place_of_the_oldest_messages_and_the_run_goes_on(talk: Talk) -> None:
    run_id = talk.until_full(include_compaction_messages=True)
    talk.check(run_id)
    window, log = talk.in_window(), talk.world.log(talk.agent)
    assert [row.role for row in window[:2]] == ["system", "summary"]
    assert talk.head().window.pinned == [row.id for row in window[:2]]
    told = json.loads(window[1].text())
    assert told["message"].endswith("They spoke of Oslo.")
    stats = told["compaction_stats"]
    assert stats["trigger"] == "context_window_limit"
    assert stats["context_tokens_before"] > 0.9 * WINDOW > stats["context_tokens_after"]
    assert stats["messages_count_before"] > stats["messages_count_after"] == len(window) - 1, "the answer came after it"
    assert window[1].run_id == run_id
    said = [row for row in log if row.role in ("user", "assistant")]
    assert len(said) == 2 * len(talk.steps), "the log keeps everything"
    assert f"{len(log) - len(window)} previous messages" in window[0].text(), "the system message was compiled anew"
    assert talk.steps[-1].messages[0].role == "summary"
    events = [event for _, event in talk.world.stores.runs.events(run_id, 0, talk.world.clock.now())]
    assert isinstance(events[0], CompactionEvent)
    assert events[0].summary_id == window[1].id
    assert events[0].data["trigger"] == "context_window_limit"
    assert isinstance(events[1], MessageEvent)
    assert events[1].message_id == window[1].id
    run = talk.world.run(run_id).run
    assert (run.compactions, run.compact_for, run.steps) == (0, None, 1)
    assert run.last_message == log[-1].id


def test_the_next_summary_takes_the_last_one_in_and_the_model_sees_one_at_a_time(talk: Talk) -> None:
    numbers = iter(range(1, 100))
    talk.answer = lambda _: says(f"Summary number {next(numbers)}.")
    talk.until_full()
    run_id = talk.until_full()
    talk.check(run_id)
    assert "Summary number 1." in talk.summaries[1].messages[-1].text()
    assert all(sum(row.role == "summary" for row in request.messages) <= 1 for request in talk.steps)
    assert "Summary number 2." in talk.steps[-1].messages[0].text()
    assert not [row for row in talk.steps[-1].messages if "Summary number 1." in row.text()]


FAILURES: dict[str, Answer] = {
    "it fails": raises(ModelConnection("no connection")),
    "its window is too small": raises(ContextWindowExceeded("too long")),
    "it times out": raises(ModelTimeout("late")),
    "it says nothing": summary(""),
    "it calls a tool": lambda _: calls(("ring", {"x": "1"})),
    "it refuses": lambda _: says("No.", finish_reason="refusal"),
    "it is not what the wire format says": raises(InvalidModelResponse("garbage")),
    "it breaks something of ours": raises(RuntimeError("a bug")),
    "it runs out of memory": raises(MemoryError()),
}


@pytest.mark.parametrize("how", FAILURES)
@pytest.mark.parametrize("mode", ["sliding_window", "self_compact_all"])
def test_where_no_summary_can_be_had_old_turns_leave_and_the_run_goes_on(how: str, mode: str, tmp_path: Path) -> None:
    talk = Talk(tmp_path, FAILURES[how])
    talk.set(compaction_settings=CompactionSettings(mode=mode))  # type: ignore[arg-type]
    run_id = talk.until_full()
    talk.check(run_id)
    assert talk.summaries
    window = talk.in_window()
    assert [row.role for row in window if row.role == "summary"] == []
    assert window[1].role == "user", "whole turns have left"
    assert tokens(window) <= 0.7 * WINDOW


@pytest.mark.parametrize("text", ["word " * 50_000, "x" * 200_000, "<summary>", "\ud800", "{}"])
def test_whatever_a_summary_says_it_leaves_room(text: str, tmp_path: Path) -> None:
    talk = Talk(tmp_path, summary(text))
    run_id = talk.until_full()
    talk.check(run_id)
    assert talk.in_window()[1].role == "summary"


def test_a_summariser_that_is_too_slow_is_not_waited_for_twice(talk: Talk) -> None:
    def late(_: ModelRequest) -> ModelReply:
        talk.world.clock.sleep(LONGEST + 1)
        raise ModelTimeout("late")

    talk.answer = late
    run_id = talk.until_full()
    talk.check(run_id)
    assert len(talk.summaries) == 1
    assert talk.in_window()[1].role == "user"


def test_a_provider_that_finds_the_request_too_long_gets_a_smaller_one(tmp_path: Path) -> None:
    """Its window is a third of what we think it is."""

    def reply(request: ModelRequest) -> ModelReply:
        if tokens(request.messages) > WINDOW // 3:
            raise ContextWindowExceeded("too long")
        return ModelReply(text=LONG, usage=Usage())

    talk = Talk(tmp_path, reply=reply)
    run_id = talk.until_full()
    talk.check(run_id)
    assert json.loads(talk.in_window()[1].text())["compaction_stats"]["trigger"] == "context_window_exceeded"
    for _ in range(4):
        talk.check(talk.world.send(talk.agent, LONG))


def test_a_provider_that_always_finds_it_too_long_ends_the_run_and_the_next_message_can_be_sent(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    talk.world.send(talk.agent, LONG)
    talk.reply = raises(ContextWindowExceeded("too long"))
    run_id = talk.world.send(talk.agent, LONG)
    run = talk.world.run(run_id).run
    assert run.stop_reason is StopReason.CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT
    assert len(talk.steps) <= 2 + MAX_COMPACTIONS
    check_settled(talk.world, talk.agent)
    talk.reply = lambda _: says("fine")
    talk.check(talk.world.send(talk.agent, "hello"))


def test_what_the_run_was_sent_and_its_newest_step_stay_however_long_it_is(tmp_path: Path) -> None:
    numbers = iter(range(100))

    def reply(_: ModelRequest) -> ModelReply:
        number = next(numbers)
        return says("done") if number == 40 else unmeasured(calls(("ring", {"x": f"{number} {LONG}"})))

    talk = Talk(tmp_path, reply=reply, window=6000)
    run_id = talk.world.send(talk.agent, "ring forty times")
    talk.check(run_id)
    assert talk.summaries
    for request in talk.steps[1:]:
        assert "ring forty times" in [row.text() for row in request.messages]
        assert request.messages[-1].role == "tool", "the newest return is seen"
        check_valid(request.messages)
    assert len(talk.world.runner.effects) == 40


@pytest.mark.parametrize("mode", ["all", "self_compact_all", "self_compact_sliding_window", "sliding_window"])
def test_every_mode_compacts(mode: str, tmp_path: Path) -> None:
    talk = Talk(tmp_path, window=6000)
    talk.set(compaction_settings=CompactionSettings(mode=mode))  # type: ignore[arg-type]
    run_id = talk.until_full()
    talk.check(run_id)
    request = talk.summaries[0]
    if mode.startswith("self_"):
        assert [tool.name for tool in request.tools] == ["ring"]
        assert request.choice.mode == "none"
        step, asked = serialized(talk.world.models, [talk.steps[-2], request])
        shared = asked[: asked.rindex('{"role": "user"')].rstrip(", ")
        whole = step.rstrip("]")
        assert shared.startswith(whole) or whole.startswith(shared), "the provider has the beginning in its cache"
    else:
        assert request.tools == ()
    kept = talk.in_window()[2:]
    assert len(kept) == 2 if mode.endswith("all") else len(kept) > 2


def test_the_settings_say_how(talk: Talk) -> None:
    settings = CompactionSettings(prompt="Write a haiku.", prompt_acknowledgement=True, clip_chars=10, model="test/small")
    talk.set(compaction_settings=settings)
    talk.answer = summary("Of course! <summary>Rain falls on the town</summary>")
    talk.check(talk.until_full())
    request = talk.summaries[0]
    assert request.config.handle == "test/small"
    assert request.system.startswith("Write a haiku.")
    assert [row.role for row in request.messages] == ["user", "assistant", "user"]
    assert talk.in_window()[1].text().count("Rain falls... [summary truncated to fit]") == 1


class OnlyOne(ScriptedModels):
    """A catalogue with one model."""

    def config(self, handle: str) -> LLMConfig:
        if handle != "test/scripted":
            raise NotFound(f"Handle {handle} not found")
        return super().config(handle)


@pytest.mark.parametrize("known", [True, False])
def test_a_summariser_that_does_not_exist_there_is_stood_in_for_by_the_agents_own_model(known: bool, tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    talk.set(compaction_settings=CompactionSettings(model="openai/gpt-5-mini"))
    if not known:
        talk.world.models.__class__ = OnlyOne

    def answer(request: ModelRequest) -> ModelReply:
        if request.config.handle != "test/scripted":
            raise ModelNotFound("unknown")
        return says("Oslo")

    talk.answer = answer
    talk.check(talk.until_full())
    assert [request.config.handle for request in talk.summaries] == ["openai/gpt-5-mini"] * known + ["test/scripted"]
    assert talk.in_window()[1].role == "summary"


def test_a_summariser_with_a_small_window_reads_the_messages_piece_by_piece(talk: Talk) -> None:
    sizes: list[int] = []

    def answer(request: ModelRequest) -> ModelReply:
        sizes.append(tokens(request.messages) + len(request.system) // 4)
        if sizes[-1] > 900:
            raise ContextWindowExceeded("too long")
        return says(f"part {len(sizes)}")

    talk.answer = answer
    talk.set(compaction_settings=CompactionSettings(mode="all"))
    talk.check(talk.until_full())
    assert talk.in_window()[1].role == "summary"
    assert sum(size <= 900 for size in sizes) > 1
    assert "<summary_so_far>" in talk.summaries[-1].messages[-1].text()


def test_a_provider_that_counts_more_than_we_do_is_believed(tmp_path: Path) -> None:
    def reply(request: ModelRequest) -> ModelReply:
        return ModelReply(text=LONG, usage=Usage(prompt_tokens=2 * tokens(request.messages) + 400, total_tokens=1))

    talk, plain = Talk(tmp_path / "a", reply=reply), Talk(tmp_path / "b")
    talk.check(talk.until_full())
    plain.check(plain.until_full())
    assert len(talk.steps) < 0.75 * len(plain.steps)
    head = talk.head()
    assert 1.5 < head.reported / head.counted < 2.5
    assert head.measured_with == talk.steps[-1].config.model
    assert (plain.head().counted, plain.head().reported) == (0, 0)


def test_between_compactions_requests_share_their_beginning(talk: Talk) -> None:
    for _ in range(20):
        talk.world.send(talk.agent, LONG)
    sent = serialized(talk.world.models, talk.steps)
    broken = [place for place in range(1, len(sent)) if not sent[place].startswith(sent[place - 1].rstrip("]"))]
    assert len(broken) == len(talk.summaries) > 1


@pytest.mark.parametrize("autoclear", [True, False])
def test_a_window_that_a_caller_set_is_compacted_too(autoclear: bool, talk: Talk) -> None:
    """Several rows are pinned; an agent that clears its buffer shows those of its run alone."""
    for _ in range(3):
        talk.world.send(talk.agent, LONG)
    rows, head = talk.in_window(), talk.head()
    pins = Window(pinned=[rows[0].id, rows[3].id, rows[4].id, rows[5].id, rows[6].id], cut=head.last_message)
    stores = talk.world.stores
    after = head.model_copy(update={"window": pins, "version": head.version + 1})
    stores.writer.write(stores.conversations.change_head(head, after, "t"), token="t")
    talk.set(message_buffer_autoclear=autoclear)
    numbers = iter(range(1, 100))
    talk.reply = lambda _: unmeasured(calls(("ring", {"x": LONG})) if next(numbers) % 12 else says("done"))
    run_id = talk.until_full()
    talk.check(run_id)
    assert not {rows[3].id, rows[4].id} & {row.id for row in talk.in_window()}
    if autoclear:
        assert all(row.run_id == run_id for row in talk.steps[-1].messages)
