"""What one follower of a run is shown: pieces or whole messages, filtered, numbered, and from where he says that he was."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Delete, Key
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.errors import InvalidArgument, LogExpired, NotFound
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.events import CompactionEvent, DeltaEvent, MessageEvent, RunEvent
from hibernaut.schemas.stop import StopReason
from hibernaut.services.logs.run_log import PAGE, SELDOM, LoggedEvent, RunLog
from hibernaut.store.runs.transactions import statistics
from hibernaut.store.table import keys
from tests.support.scripted_model import in_turn, says
from tests.support.world import TENANT, World, data_in

UNKNOWN = "run-01a20138-85dd-4000-9f77-fb88dc3c3280"
PACKED = '{"type":"system_alert","message":"Earlier: tea.","compaction_stats":null}'


def opened(folder: Path) -> tuple[World, str]:
    world = World(data_in(folder, in_turn(says("done"))))
    return world, world.make_agent()


def write(world: World, run_id: str, events: Sequence[RunEvent], *, each: int = 1000) -> None:
    """Append events to the log of a run under way, `each` to a batch."""
    first = len(world.stores.runs.events(run_id, 0, world.clock.now())) + 1
    for start in range(0, len(events), each):
        batch = events[start : start + each]
        world.stores.writer.write(world.stores.runs.put_events(run_id, first + start, batch, world.clock.now()))


def row(world: World, agent_id: str, run_id: str, text: str, role: str = "assistant", message_id: str = "") -> str:
    """A row of the log, written past the run's own steps."""
    message_id = message_id or world.ids.new("message", after=world.head(agent_id).last_message)
    message = Message(
        id=message_id,
        role=role,  # type: ignore[arg-type]
        content=[TextContent(text=text)],
        agent_id=agent_id,
        run_id=run_id,
        created_at=world.clock.now(),
    )
    world.stores.writer.write(world.stores.conversations.put_message(agent_id, message))
    return message_id


def pieces(world: World, message_id: str, *texts: str) -> list[RunEvent]:
    return [
        DeltaEvent(
            message_type="assistant_message", message_id=message_id, step_id="step-1", index=0, text=text, at=world.clock.now()
        )
        for text in texts
    ]


def told(found: Sequence[LoggedEvent]) -> list[tuple[int, str | None]]:
    return [(one.seq, one.message.message_type if one.message else None) for one in found]


def whole(world: World, run_id: str) -> list[str]:
    return [one.message_type for one in world.run_follower.outcome(run_id).messages]


def test_who_follows_tokens_sees_pieces_and_who_wants_the_whole_sees_messages(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    message_id = row(world, agent_id, run_id, "Hello")
    write(world, run_id, [*pieces(world, message_id, "Hel", "lo"), MessageEvent(message_id=message_id, index=0, streamed=True)])
    found = world.run_follower.events(run_id)
    assert told(found) == [(1, "assistant_message"), (2, "assistant_message"), (3, None)]
    assert [one.message.content for one in found[:2]] == ["Hel", "lo"]  # type: ignore[union-attr]
    assert [one.content for one in world.run_follower.outcome(run_id).messages] == ["Hello"]  # type: ignore[union-attr]


def test_a_message_that_was_not_streamed_is_shown_whole_to_both(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    write(world, run_id, [MessageEvent(message_id=row(world, agent_id, run_id, "Hello"), index=0)])
    assert told(world.run_follower.events(run_id)) == [(1, "assistant_message")]
    assert whole(world, run_id) == ["assistant_message"]


def test_pieces_of_an_attempt_that_died_are_nobodys_message(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    write(world, run_id, pieces(world, world.ids.new("message"), "Hel"))
    world.sweep()
    assert [kind for _, kind in told(world.run_follower.events(run_id))][:2] == ["assistant_message"] * 2
    assert [one.content for one in world.response(run_id).messages] == ["done"]  # type: ignore[union-attr]


def test_the_filter_of_types_holds_for_pieces_too(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello", include_return_message_types=["tool_return_message"]).run_id
    write(world, run_id, pieces(world, world.ids.new("message"), "Hel", "lo"))
    assert told(world.run_follower.events(run_id)) == [(1, None), (2, None)]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"include_compaction_messages": True}, ["event_message", "summary_message"]),
        ({}, [None, "user_message"]),
        ({"include_return_message_types": ["summary_message"]}, [None, "summary_message"]),
    ],
)
def test_a_compaction_is_shown_as_such_to_who_asked_for_it(
    options: dict[str, object], shown: list[str | None], tmp_path: Path
) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello", **options).run_id  # type: ignore[arg-type]
    summary = row(world, agent_id, run_id, PACKED, "summary")
    started = CompactionEvent(summary_id=summary, at=world.clock.now(), data={"trigger": "context_window_limit"})
    write(world, run_id, [started, MessageEvent(message_id=summary, index=0)])
    found = world.run_follower.events(run_id)
    assert [kind for _, kind in told(found)] == shown
    if shown[0]:
        assert found[0].message.event_data == {"trigger": "context_window_limit"}  # type: ignore[union-attr]
        assert found[1].message.summary == "Earlier: tea."  # type: ignore[union-attr]
        assert whole(world, run_id) == ["user_message"], "a blocking reply shows what the model is given"


def test_a_long_log_is_read_page_by_page(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    write(world, run_id, pieces(world, world.ids.new("message"), *map(str, range(3 * PAGE))), each=2)
    log = world.run_follower.log(run_id)
    sizes = [len(log.look()) for _ in range(3)]
    assert sizes == [2 * PAGE, PAGE, 0]
    assert not log.done
    world.sweep()
    log.look()
    assert log.at_end


@pytest.mark.parametrize("start", range(1, 10))
def test_a_follower_in_the_middle_of_a_batch_gets_its_rest_first(start: int, tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    write(world, run_id, pieces(world, world.ids.new("message"), *map(str, range(9))), each=3)
    log = world.run_follower.resumed(run_id, start + 1)
    assert [one.seq for one in log.look()] == list(range(start + 1, 10))
    write(world, run_id, pieces(world, world.ids.new("message"), "x", "y"))
    assert [one.seq for one in log.look()] == [10, 11]


def test_an_event_whose_message_is_not_in_sight_yet_is_shown_when_it_is(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    first, late = row(world, agent_id, run_id, "one"), world.ids.new("message")
    write(world, run_id, [MessageEvent(message_id=one, index=0) for one in (first, late, first)])
    log = world.run_follower.log(run_id)
    assert [one.seq for one in log.look()] == [1]
    assert log.look() == []
    row(world, agent_id, run_id, "two", message_id=late)
    assert [one.seq for one in log.look()] == [2, 3]


def numbers(log: RunLog) -> list[int]:
    return [one.shown_seq for one in log.look()]


@pytest.mark.parametrize("seen", [0, 1, 2, 3, 4, 5])
def test_who_comes_back_gets_what_follows_his_number(seen: int, tmp_path: Path) -> None:
    """The ping is number 1, so that the four events of a plain run are 2 to 5."""
    world, agent_id = opened(tmp_path)
    run_id = world.send(agent_id, "hello")
    log = world.run_follower.resumed(run_id, seen)
    assert log.at_end is (seen == 5)
    assert numbers(log) == [number for number in (2, 3, 4, 5) if number > seen]


def test_a_number_that_the_stream_does_not_reach_is_refused_with_the_last_one(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    assert numbers(world.run_follower.resumed(run_id, 1)) == []
    with pytest.raises(InvalidArgument, match=r"starting_after 2 is beyond .* its last number is 1"):
        world.run_follower.resumed(run_id, 2)
    write(world, run_id, pieces(world, world.ids.new("message"), "a", "b"))
    assert numbers(world.run_follower.resumed(run_id, 3)) == []
    with pytest.raises(InvalidArgument, match="its last number is 3"):
        world.run_follower.resumed(run_id, 4)
    world.sweep()
    with pytest.raises(InvalidArgument, match="its last number is 7"):
        world.run_follower.resumed(run_id, 8)


def test_what_is_no_run_and_what_is_an_unknown_one(tmp_path: Path) -> None:
    world, _ = opened(tmp_path)
    with pytest.raises(InvalidArgument, match="Expected format: 'run-<uuid4>'"):
        world.run_follower.resumed("run-1", 0)
    with pytest.raises(NotFound, match=f"Run with id {UNKNOWN} not found"):
        world.run_follower.resumed(UNKNOWN, 0)


def test_a_log_is_whole_for_a_day_after_the_end_however_long_the_run_took(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    write(world, run_id, pieces(world, world.ids.new("message"), "early"))
    world.clock.sleep(timedelta(hours=23).total_seconds())
    world.sweep()
    world.clock.sleep(timedelta(hours=23, minutes=59).total_seconds())
    assert numbers(world.run_follower.resumed(run_id, 0)) == [2, 3, 4, 5, 6]
    world.clock.sleep(timedelta(minutes=2).total_seconds())
    with pytest.raises(LogExpired, match=f"kept for 24 hours after its end.*GET /v1/runs/{run_id}/messages"):
        world.run_follower.resumed(run_id, 0)


@pytest.mark.parametrize("seen", [0, 2, 4])
@pytest.mark.parametrize("ended", [True, False], ids=["ended", "goes on"])
def test_a_log_whose_first_events_have_expired_is_gone_and_no_wrong_number(seen: int, ended: bool, tmp_path: Path) -> None:
    """The numbers of the later events cannot be known any more."""
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    write(world, run_id, pieces(world, world.ids.new("message"), "early"))
    world.clock.sleep(timedelta(hours=47, minutes=59).total_seconds())
    write(world, run_id, pieces(world, world.ids.new("message"), "late"))
    if ended:
        world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert numbers(world.run_follower.resumed(run_id, 0))[:2] == [2, 3]
    world.clock.sleep(timedelta(minutes=2).total_seconds())
    with pytest.raises(LogExpired, match=f"kept for 48 hours.*GET /v1/runs/{run_id}/messages"):
        world.run_follower.resumed(run_id, seen)
    for item in world.data.table.query(keys.run(TENANT, run_id).pk, prefix="EV#", limit=1):
        world.stores.writer.write(Delete(Key(str(item["pk"]), str(item["sk"]))))
    with pytest.raises(LogExpired):
        world.run_follower.resumed(run_id, seen)


def test_a_run_that_waited_longer_than_events_are_kept_is_followed_from_its_beginning(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    world.accept(agent_id, "hello")
    run_id = world.accept(agent_id, "me later", when_busy="queue").run_id
    world.clock.sleep(timedelta(hours=49).total_seconds())
    assert numbers(world.run_follower.resumed(run_id, 0)) == []
    world.sweep()
    assert numbers(world.run_follower.resumed(run_id, 0)) == [2, 3, 4, 5]


def test_a_deleted_log_ends_its_followers_but_is_not_its_end(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.send(agent_id, "hello")
    log = world.run_follower.log(run_id)
    world.stores.deletion.run(world.run(run_id).run)
    assert log.look() == []
    assert (log.done, log.at_end) == (True, False)


def test_a_run_that_is_deleted_while_it_is_followed_ends_its_followers(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    log = world.run_follower.log(run_id)
    assert log.look() == []
    world.stores.deletion.run(world.run(run_id).run)
    for _ in range(SELDOM):
        log.look()
    assert (log.done, log.at_end) == (True, False)


def test_a_run_whose_end_nobody_told_is_found_to_have_ended(tmp_path: Path) -> None:
    """Its closing events are gone, as if somebody had deleted them."""
    world, agent_id = opened(tmp_path)
    run_id = world.accept(agent_id, "hello").run_id
    log = world.run_follower.log(run_id)
    world.sweep()
    for item in world.data.table.query(keys.run(TENANT, run_id).pk, prefix="EV#"):
        world.stores.writer.write(Delete(Key(str(item["pk"]), str(item["sk"]))))
    for _ in range(SELDOM):
        log.look()
    assert (log.done, log.at_end) == (True, False)


def test_the_stream_of_a_conversation_is_that_of_the_named_run_or_of_an_otid_or_of_its_active_run(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    first = world.send(agent_id, "hello", otids=["mine"])
    with pytest.raises(InvalidArgument, match="No active runs found for this conversation"):
        world.run_follower.run_for(agent_id)
    second = world.accept(agent_id, "again").run_id
    assert world.run_follower.run_for(agent_id) == second
    assert world.run_follower.run_for(agent_id, otid="mine") == first
    assert world.run_follower.run_for(agent_id, run_id=second, otid="mine") == second
    with pytest.raises(InvalidArgument, match="No run of this conversation took a message with the otid theirs"):
        world.run_follower.run_for(agent_id, otid="theirs")
    with pytest.raises(InvalidArgument, match="belongs to another conversation"):
        world.run_follower.run_for(world.make_agent(), run_id=first)
    with pytest.raises(InvalidArgument, match="Invalid run ID format"):
        world.run_follower.run_for(agent_id, run_id="run-1")
    with pytest.raises(NotFound):
        world.run_follower.run_for(agent_id, run_id=UNKNOWN)


def test_figures_that_no_provider_reported_are_zero_but_null_to_who_follows_tokens(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    usage = world.response(world.send(agent_id, "hello")).usage
    assert (usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (0, 0, 0)
    run_id = world.accept(agent_id, "hello").run_id
    state = world.run(run_id)
    state.run.options.stream_tokens = True
    usage = statistics(state.run)
    assert (usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (None, None, None)
