"""The window made smaller without a model: whole old turns go, calls keep their returns, the newest turn stays (invariant 9)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.window.sent_messages import as_sent
from hibernaut.domain.window.window import (
    LEAST,
    MOST,
    correction,
    cuts,
    drop_oldest_turns,
    is_input,
    narrowed,
    newest_input,
    tokens,
    turn_starts,
)
from hibernaut.schemas.agents.conversation import Window
from hibernaut.schemas.messages.message import FunctionCall, Message, ToolCall
from tests.support.settled import check_valid
from tests.support.windows import NOW, loaded, windows

GOALS = st.integers(0, 600)


@given(windows(), GOALS)
def test_whole_turns_go_from_the_front_and_no_more_than_needed(rows: list[Message], goal: int) -> None:
    kept = drop_oldest_turns(rows, goal)
    head = sum(row.role == "summary" for row in kept[1:]) + 1
    assert list(kept[:head]) == rows[:head], "the system message stays, and the summary as long as it may"
    check_valid(kept)
    assert tokens(kept) <= tokens(rows)
    said = rows[sum(row.role in ("system", "summary") for row in rows[:2]) :]
    starts = turn_starts(said)
    if not starts:
        return
    newest = said[starts[-1] :]
    inputs = newest_input(said)
    assert inputs <= {row.id for row in kept}, "what was said last stays"
    assert kept[-1].id == said[-1].id, "the newest step stays"
    if [row for row in kept[head:] if row not in newest]:
        assert [row for row in kept[head:] if row in newest] == newest, "older turns go before steps of the newest one"
    gone = len(said) - len(kept[head:])
    if gone and [row for row in newest if row in kept] == newest:
        before = max((start for start in starts if start < gone), default=0)
        assert tokens([*rows[: len(rows) - len(said)], *said[before:]]) > goal, "one turn less would have been enough"


@given(windows(), GOALS)
def test_the_summary_goes_only_where_everything_else_that_may_go_is_gone(rows: list[Message], goal: int) -> None:
    kept = drop_oldest_turns(rows, goal)
    if len(rows) > 1 and rows[1].role == "summary" and rows[1] not in kept:
        least = drop_oldest_turns(rows, -1)
        assert kept == least


@given(windows(), GOALS)
def test_dropping_again_to_the_same_goal_drops_nothing(rows: list[Message], goal: int) -> None:
    kept = drop_oldest_turns(rows, goal)
    assert drop_oldest_turns(kept, goal) == kept
    assert list(drop_oldest_turns(rows, tokens(rows))) == rows


@given(windows())
def test_a_window_may_be_cut_only_where_every_call_keeps_its_return(rows: list[Message]) -> None:
    for place in cuts(rows[1:]):
        check_valid(rows[1 + place :])
        check_valid(rows[1 : 1 + place])
        if place < len(rows) - 1:
            begins = rows[1 + place]
            assert is_input(begins) or begins.role in ("assistant", "approval")


@given(windows(), GOALS, st.integers(1, 6))
def test_what_is_stored_of_a_smaller_window_loads_as_that_window(rows: list[Message], goal: int, pins: int) -> None:
    """`pins` rows at the head are pinned, as in a window that a caller has set."""
    pins = max(pins, sum(row.role in ("system", "summary") for row in rows[:2]))
    pinned = [row.id for row in rows[:pins]]
    before = Window(pinned=pinned, cut=rows[min(pins, len(rows)) - 1].id)
    assert loaded(before, rows) == rows
    kept = drop_oldest_turns(rows, goal, rows[-1].run_id)
    assert loaded(narrowed(before, rows, kept), rows) == list(kept)
    summary = Message(id="m9999", role="summary", agent_id="agent-1", created_at=rows[0].created_at, tokens=1)
    kept = (kept[0], *(row for row in kept[1:] if row.role != "summary"))
    assert loaded(narrowed(before, rows, kept, summary.id), [*rows, summary]) == [kept[0], summary, *kept[1:]]


@given(
    windows(), st.integers(1, 100), st.sets(st.integers(1, 8), min_size=1), st.integers(1, 8), st.integers(0, 2), st.booleans()
)
def test_a_smaller_window_of_which_only_the_newest_runs_are_shown_loads_as_what_is_left_of_them(
    rows: list[Message], less: int, pins: set[int], cut: int, runs: int, sums_up: bool
) -> None:
    """Any rows before the cut are pinned, as a caller sets them; an agent that clears its buffer is shown those of its run
    alone.
    """
    cut = min(cut, len(rows) - 1)
    before = Window(pinned=[rows[0].id, *(rows[pin].id for pin in sorted(pins) if pin <= cut)], cut=rows[cut].id)
    window = loaded(before, rows)
    shown = [rows[0], *(row for row in window[1:] if row.run_id is not None and row.run_id >= f"run-{runs}")]
    kept = drop_oldest_turns(shown, tokens(shown) - less, shown[-1].run_id)
    first = shown[1].id if shown[1:] else "z"
    summary = Message(id="m9999", role="summary", agent_id="agent-1", created_at=NOW, tokens=1) if sums_up else None
    after = narrowed(before, shown, kept, summary.id if summary else None)
    grown = [*rows, *([summary] if summary else [])]
    again = [row for row in loaded(after, grown)[1:] if row is summary or row.id >= first]
    assert again == [*([summary] if summary else []), *kept[1:]]
    assert after.pinned[0] == rows[0].id
    assert not {row.id for row in rows if row not in shown} & set(after.pinned), "what is not shown is pinned no longer"
    # And once more, with the pins that the first time left.
    least = drop_oldest_turns(kept, -1, shown[-1].run_id)
    assert [row for row in loaded(narrowed(after, kept, least), rows)[1:] if row.id >= first] == list(least[1:])


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_provider_is_believed_within_bounds(counted: int, reported: int) -> None:
    factor = correction(counted, reported)
    assert LEAST <= factor <= MOST
    if counted and reported and LEAST <= reported / counted <= MOST:
        assert factor * counted == reported or abs(factor * counted - reported) < 1
    if reported < counted / 2:
        assert factor == 1.0, "that cannot be the whole request"
    assert correction(0, reported) == correction(counted, 0) == 1.0


@given(windows())
def test_rows_that_fit_are_sent_as_they_are(rows: list[Message]) -> None:
    assert list(as_sent(rows, 1000)) == rows


@given(windows(), st.booleans(), st.sampled_from([None, "run-x"]))
def test_calls_that_wait_for_their_returns_stay_with_what_follows_them(
    rows: list[Message], apart: bool, follows: str | None
) -> None:
    """Behind a request for an approval, or calls that an imported log leaves open, a message may stand already."""
    made = [ToolCall(id="c0", function=FunctionCall(name="ring", arguments="{}"))]
    common = {"agent_id": "agent-1", "created_at": NOW, "run_id": "run-y", "step_id": "s-y"}
    asked = [Message(id="m8000", role="assistant", tool_calls=None if apart else made, **common)]  # type: ignore[arg-type]
    asked += [Message(id="m8001", role="approval", tool_calls=made, **common)] if apart else []  # type: ignore[arg-type]
    said = [Message(id="m8002", role="user", agent_id="agent-1", created_at=NOW, run_id=follows)] if follows else []
    body = [*rows[1:], *asked, *said]
    assert all(place <= len(rows) - 1 for place in cuts(body))
    kept = drop_oldest_turns([rows[0], *body], 0)
    assert [row for row in kept if row in asked] == asked
    check_valid([row for row in kept if row not in said], waits=True)


@given(windows(), st.data())
def test_a_message_between_a_call_and_its_return_does_not_part_them(rows: list[Message], data: st.DataObject) -> None:
    """As in logs that other servers wrote."""
    calls = [place for place, row in enumerate(rows) if row.role in ("assistant", "approval") and row.tool_calls]
    if not calls:
        return
    place = data.draw(st.sampled_from(calls))
    stray = Message(id="m9000", role="user", agent_id="agent-1", created_at=NOW, run_id="run-x")
    assert place not in cuts([*rows[1 : place + 1], stray, *rows[place + 1 :]])
