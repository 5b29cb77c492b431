"""The window made smaller without a model: whole old turns go, calls keep their returns, the newest turn stays (invariant 9)."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.window import drop_oldest_turns, tokens
from hibernaut.schemas.message import FunctionCall, Message, ToolCall, ToolReturn
from tests.support.settled import check_valid

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@st.composite
def windows(draw: st.DrawFn) -> list[Message]:
    """A system row, perhaps a summary, and turns of one run each; sometimes two user messages begin one, or a heartbeat stands inside."""
    rows: list[Message] = []

    def add(role: str, run: str | None = None, step: str | None = None, **fields: object) -> None:
        size = draw(st.integers(0, 60))
        rows.append(
            Message(  # type: ignore[call-arg]
                id=f"m{len(rows):04}",
                role=role,
                agent_id="agent-1",
                run_id=run,
                step_id=step,
                tokens=size,
                created_at=NOW,
                **fields,
            )
        )

    add("system")
    if draw(st.booleans()):
        add("summary")
    for turn in range(draw(st.integers(0, 5))):
        run = f"run-{turn}"
        for _ in range(draw(st.integers(1, 2))):
            add("user", run)
        for step in range(draw(st.integers(0, 3))):
            calls = [f"c{turn}-{step}-{n}" for n in range(draw(st.integers(0, 2)))]
            made = [ToolCall(id=call, function=FunctionCall(name="ring", arguments="{}")) for call in calls]
            add("assistant", run, f"s{step}", tool_calls=made or None)
            if calls:
                add("tool", run, f"s{step}", tool_returns=[ToolReturn(tool_call_id=call, status="success") for call in calls])
                if draw(st.booleans()):
                    add("user", run, f"s{step}")
    return rows


def pinned(rows: list[Message]) -> int:
    return sum(row.role in ("system", "summary") for row in rows[:2])


@given(windows(), st.integers(0, 600))
def test_whole_turns_go_from_the_front_and_no_more_than_needed(rows: list[Message], goal: int) -> None:
    head = pinned(rows)
    kept = drop_oldest_turns(rows, goal, head)
    assert list(kept[:head]) == rows[:head], "what is pinned stays"
    body = list(kept[head:])
    assert body == rows[len(rows) - len(body) :], "only a beginning is dropped"
    check_valid(kept)
    if body:
        assert body[0].role == "user"
        assert body[0].step_id is None
        assert body[-1] == rows[-1], "the newest turn stays"
    if len(kept) < len(rows):
        before = next(n for n in range(len(rows) - len(body) - 1, -1, -1) if n == head or rows[n].run_id != rows[n - 1].run_id)
        assert tokens([*rows[:head], *rows[before:]]) > goal, "one turn less would have been enough"
    runs = {row.run_id for row in rows[head:]}
    if tokens(kept) > goal and runs:
        assert len({row.run_id for row in body}) == 1, "more could have been dropped"


@given(windows(), st.integers(0, 600))
def test_dropping_again_to_the_same_goal_drops_nothing(rows: list[Message], goal: int) -> None:
    kept = drop_oldest_turns(rows, goal, pinned(rows))
    assert drop_oldest_turns(kept, goal, pinned(rows)) == kept
    assert list(drop_oldest_turns(rows, tokens(rows), pinned(rows))) == rows
