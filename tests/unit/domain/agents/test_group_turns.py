"""The turns of a group as values: who speaks, and that each agent is told everything once (RT 9.4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.agents.group_turns import (
    AGAIN,
    MOST_APART,
    MOST_TURNS,
    GroupTurn,
    Saying,
    named_in,
    next_reply,
    return_of,
    sayings_of,
    turn_messages,
    turn_of,
)
from hibernaut.domain.tools.tool_returns import pack
from hibernaut.domain.window.erased_rows import ERASED, erased
from hibernaut.schemas.agents.group import ManagerType, StoredGroup
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.limits import LONGEST_NAME
from hibernaut.schemas.messages.message import FunctionCall, Message, ToolCall, ToolReturn
from hibernaut.services.groups.group_messages import TURNS_OF_A_CHOICE

AT = datetime(2026, 1, 2, tzinfo=UTC)
GROUP = "group-1"
SYSTEM = Message(id="message-0", role="system", agent_id=GROUP, created_at=AT)


def group(agents: int, **fields: object) -> StoredGroup:
    ids = [f"agent-{place}" for place in range(agents)]
    return StoredGroup.model_validate({"id": GROUP, "manager_type": "round_robin", "agent_ids": ids, "description": "", **fields})


def row(role: str, text: str, run_id: str, **fields: object) -> Message:
    return Message.model_validate(
        {
            "id": "message-1",
            "role": role,
            "content": [TextContent(text=text)],
            "agent_id": GROUP,
            "run_id": run_id,
            "created_at": AT,
        }
        | fields
    )


def played(
    of: StoredGroup, run_id: str, rows: list[Message], says: Callable[[GroupTurn, int], str]
) -> list[tuple[GroupTurn, list[str]]]:
    """Play a run of the group to its end on `rows`; returns the turns with what the agents were told."""
    names = {agent_id: f"Name {agent_id}" for agent_id in of.agent_ids}
    taken: list[tuple[GroupTurn, list[str]]] = []
    while calls := next_reply(of, names, rows, run_id).tool_calls:
        turn = turn_of(json.loads(calls[0].arguments))
        taken.append((turn, [text_of(one.content) for one in turn_messages(of.id, turn, rows)]))
        said = [Saying(turn.agent_id, names.get(turn.agent_id), says(turn, len(taken)))]
        call = ToolCall(id=calls[0].id, function=FunctionCall(name=calls[0].name, arguments=calls[0].arguments))
        packed = pack("success", return_of(said), AT, "UTC")
        answer = ToolReturn(tool_call_id=calls[0].id, status="success", func_response=packed)
        rows.append(row("assistant", "", run_id, tool_calls=[call]))
        rows.append(row("tool", packed, run_id, tool_returns=[answer], name=calls[0].name))
    return taken


def text_of(content: object) -> str:
    return content if isinstance(content, str) else "\n".join(part.text for part in content)  # type: ignore[attr-defined]


@given(agents=st.integers(1, 6), most=st.none() | st.integers(1, 15), messages=st.integers(1, 5))
def test_each_agent_is_told_everything_that_others_say_once_and_in_order(agents: int, most: int | None, messages: int) -> None:
    of, rows = group(agents, max_turns=most), [SYSTEM]
    everything: list[tuple[str, str]] = []
    heard: dict[str, list[str]] = {agent_id: [] for agent_id in of.agent_ids}
    upto: dict[str, int] = {}
    for number in range(messages):
        rows.append(row("user", f"message {number}", f"run-{number}"))
        everything.append(("user", f"message {number}"))
        turns = played(of, f"run-{number}", rows, lambda turn, place, at=number: f"{turn.agent_id} says {at}.{place}")  # type: ignore[misc]
        assert [turn.agent_id for turn, _ in turns] == [of.agent_ids[place % agents] for place in range(most or agents)]
        for place, (turn, texts) in enumerate(turns, 1):
            heard[turn.agent_id] += texts
            upto[turn.agent_id] = len(everything)
            everything.append((turn.agent_id, f"Name {turn.agent_id}: {turn.agent_id} says {number}.{place}"))
    for agent_id, until in upto.items():
        expected = [text for who, text in everything[:until] if who != agent_id]
        said = "\n".join(text for text in heard[agent_id] if text != AGAIN)
        for text in expected:
            assert said.count(f"{text}\n") + said.endswith(text) == 1, (agent_id, text)
        assert [text for text in said.replace("user: ", "").splitlines() if text in expected] == expected


@given(answers=st.lists(st.sampled_from(["Name agent-0", "agent-1", "nobody", "DONE!"]), min_size=1), most=st.integers(1, 8))
def test_a_dynamic_group_ends_within_its_steps_whatever_its_manager_says(answers: list[str], most: int) -> None:
    of = group(2, manager_type=ManagerType.DYNAMIC, manager_agent_id="agent-9", termination_token="DONE!", max_turns=most)
    rows = [SYSTEM, row("user", "hello", "run-1")]
    chosen = iter(answers * (3 * most + 3))
    turns = played(of, "run-1", rows, lambda turn, _: next(chosen) if turn.purpose == "choose" else "I speak")
    assert len(turns) <= TURNS_OF_A_CHOICE * most
    assert sum(turn.purpose == "speak" for turn, _ in turns) <= most
    assert all(turn.agent_id == "agent-9" for turn, _ in turns if turn.purpose == "choose")


def test_a_name_that_was_stored_before_names_had_a_limit_is_cut() -> None:
    said = row("user", "Hello.", "run-1", name="n" * (LONGEST_NAME + 1), sender_id="s" * (LONGEST_NAME + 1))
    [message] = turn_messages(GROUP, GroupTurn("agent-0"), [SYSTEM, said])
    assert (message.name, message.sender_id) == ("n" * LONGEST_NAME, "s" * LONGEST_NAME)


def test_an_agent_that_has_missed_much_is_told_the_older_part_in_one_message() -> None:
    of, rows = group(1), [SYSTEM, *(row("user", f"message {number}", "run-0") for number in range(MOST_TURNS))]
    texts = [text_of(one.content) for one in turn_messages(of.id, GroupTurn("agent-0"), rows)]
    assert len(texts) == MOST_APART + 1
    assert texts[0].startswith("Earlier in the group:\nuser: message 0\nuser: message 1\n")
    assert texts[-1] == f"message {MOST_TURNS - 1}"


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Ann", "agent-0"),
        ("I think Bob, then Ann.", "agent-1"),
        ("Annabel", "agent-2"),
        ("Ann-Marie, please", "agent-3"),
        ("agent-1", "agent-1"),
        ("Nobody", None),
        ("Anna", None),
        ("C++ (senior)!", "agent-4"),
    ],
)
def test_the_agent_that_is_named_first_speaks(answer: str, found: str | None) -> None:
    names = {"agent-0": "Ann", "agent-1": "Bob", "agent-2": "Annabel", "agent-3": "Ann-Marie", "agent-4": "C++ (senior)"}
    assert named_in(answer, names) == found


def test_a_turn_whose_text_was_erased_shows_that_and_its_agent() -> None:
    of, rows = group(1), [SYSTEM, row("user", "hello", "run-1")]
    played(of, "run-1", rows, lambda *_: "secret")
    gone = erased(rows[-1])
    assert [(one.agent_id, one.text, one.failed) for one in sayings_of(gone)] == [("agent-0", ERASED, False)]
    assert [text_of(one.content) for one in turn_messages(of.id, GroupTurn("agent-1"), [*rows[:-1], gone])] == [
        "hello",
        f"agent-0: {ERASED}",
    ]


@pytest.mark.parametrize("manager", ["round_robin", "dynamic", "supervisor"])
def test_a_group_that_has_lost_all_its_agents_ends_its_run(manager: str) -> None:
    of = group(0, manager_type=manager, manager_agent_id="agent-9", max_turns=3)
    assert played(of, "run-1", [SYSTEM, row("user", "hello", "run-1")], lambda *_: "") == []
