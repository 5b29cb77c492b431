"""Windows for property tests: rows of whole turns, and the reading of a stored window."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import strategies as st

from hibernaut.schemas.agents.conversation import Window
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.messages.message import FunctionCall, Message, ToolCall, ToolReturn

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@st.composite
def windows(draw: st.DrawFn, *, most: int = 60, approvals: bool = True) -> list[Message]:
    """A system row, sometimes a summary, and turns of one run each. Some turns begin with two user messages, contain a heartbeat
    or a request for approval, or have two steps with the same call id. `most`: the size of the largest row in tokens.
    """
    rows: list[Message] = []

    def add(role: str, run: str | None = None, step: str | None = None, **fields: object) -> None:
        rows.append(
            Message(  # type: ignore[call-arg]
                id=f"m{len(rows):04}",
                role=role,
                content=[TextContent(text=f"row {len(rows)}")],
                agent_id="agent-1",
                run_id=run,
                step_id=step,
                tokens=draw(st.integers(0, most)),
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
            unique = draw(st.booleans())
            ids = [f"c{turn}-{step}-{n}" if unique else f"c{n}" for n in range(draw(st.integers(0, 2)))]
            made = [ToolCall(id=call, function=FunctionCall(name="ring", arguments="{}")) for call in ids]
            asks = approvals and bool(ids) and draw(st.booleans())
            add("assistant", run, f"s{turn}-{step}", tool_calls=None if asks else made or None)
            if asks:
                add("approval", run, f"s{turn}-{step}", tool_calls=made)
            if ids:
                add(
                    "tool",
                    run,
                    f"s{turn}-{step}",
                    tool_returns=[ToolReturn(tool_call_id=call, status="success", func_response="{}") for call in ids],
                )
                if draw(st.booleans()):
                    add("user", run, f"s{turn}-{step}")
    return rows


def loaded(stored: Window, log: Sequence[Message]) -> list[Message]:
    """The rows of a stored window: the pinned ones, then all rows after the cut."""
    by_id = {row.id: row for row in log}
    pinned = [by_id[row_id] for row_id in stored.pinned]
    tail = [row for row in log if stored.cut is None or row.id > stored.cut]
    return [*pinned, *(row for row in tail if row.id not in stored.pinned and row.role not in ("system", "summary"))]
