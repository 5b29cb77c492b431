"""What followers of tokens are shown, put together, is what the rows show, however the reply is cut (Letta V1 API, digest
6.3).
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.agents.agent_types import spec_of
from hibernaut.domain.tools import argument_reader
from hibernaut.domain.tools.argument_reader import REST, ArgumentReader, Piece
from hibernaut.domain.tools.tool_returns import all_storable, storable
from hibernaut.domain.turn import step_rows
from hibernaut.domain.turn.actor import Actor
from hibernaut.domain.turn.model_requests import calls_of
from hibernaut.domain.wire.deltas import DeltaRenderer, as_stored, merged
from hibernaut.domain.wire.letta_messages import Rendering, render
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.content import ReasoningContent, ReasoningPart, SummarizedReasoningContent, SummarizedReasoningPart
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.models.model_call import Delta, ModelReply, ModelToolCall
from hibernaut.schemas.runs.events import DeltaEvent
from hibernaut.schemas.runs.turn import Stamp
from hibernaut.schemas.tools.tool import Tool, ToolType
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from tests.support.replies import ANSWERS

NOW = datetime(2026, 1, 2, tzinfo=UTC)
STAMP = Stamp(
    step_id="step-1",
    assistant_id="message-a",
    approval_id="message-b",
    tool_id="message-c",
    heartbeat_id="message-d",
    at=NOW,
    streamed=True,
)
NAMES = ("send_message", "memory_insert", "ring", "launch", "at_the_client")


def actor(kind: AgentType, *, parallel: bool = True) -> Actor:
    """`launch` needs approval, `at_the_client` is the client's."""
    tools = tuple(Tool(id=f"tool-{name}", name=name, tool_type=ToolType.CUSTOM, json_schema={"name": name}) for name in NAMES)
    config = LLMConfig(model="m", model_endpoint_type="openai", context_window=1000, parallel_tool_calls=parallel)
    rules = (RequiresApprovalToolRule(tool_name="launch"),)
    return Actor("agent-1", None, "run-1", spec_of(kind), config, rules, tools, frozenset({"at_the_client"}), "UTC")


TEXTS = st.text(
    alphabet=st.sampled_from(['"', "\\", "{", "}", ",", ":", "\n", "a", "é", "\U0001f600", "\ud83d", " "]), max_size=12
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 500), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5,
)


@st.composite
def arguments(draw: st.DrawFn) -> str:
    members: dict[str, Any] = draw(st.dictionaries(TEXTS, VALUES, max_size=3))
    for name, value in (("message", st.one_of(TEXTS, VALUES)), ("thinking", st.one_of(TEXTS, VALUES)), ("x", VALUES)):
        if draw(st.booleans()):
            members[name] = draw(value)
    order = draw(st.permutations(list(members)))
    space = draw(st.sampled_from([(", ", ": "), (",", ":"), (" ,\n ", " : ")]))
    return json.dumps({name: members[name] for name in order}, ensure_ascii=draw(st.booleans()), separators=space)


@st.composite
def replies(draw: st.DrawFn) -> ModelReply:
    made = draw(st.lists(st.tuples(st.sampled_from(NAMES), arguments(), st.sampled_from(["c-1", "c-2"])), max_size=3))
    thoughts = [text for text in draw(st.lists(TEXTS, max_size=3)) if text]
    parts = [SummarizedReasoningPart(index=index, text=text) for index, text in enumerate(thoughts)]
    shown = (
        SummarizedReasoningContent(id="r", summary=parts)
        if draw(st.booleans())
        else ReasoningContent(reasoning="".join(thoughts))
    )
    return ModelReply(
        text=draw(TEXTS),
        reasoning=(shown,) if thoughts else (),
        tool_calls=tuple(ModelToolCall(call_id, name, args) for name, args, call_id in made),
    )


def cut(draw: Any, text: str) -> list[str]:
    places = sorted(draw(st.sets(st.integers(1, len(text) - 1), max_size=6))) if len(text) > 1 else []
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True) if text]


def thought_of(part: ReasoningPart) -> str:
    if isinstance(part, SummarizedReasoningContent):
        return "\n\n".join(each.text for each in part.summary)
    return part.reasoning if isinstance(part, ReasoningContent) else ""


def pieces_of(draw: Any, reply: ModelReply) -> list[Delta]:
    told = [Delta("reasoning", piece) for part in reply.reasoning for piece in cut(draw, thought_of(part))]
    told += [Delta("text", piece) for piece in cut(draw, reply.text)]
    for place, call in enumerate(reply.tool_calls):
        told.append(Delta("tool_name", call.name, place, call.id))
        told += [Delta("tool_arguments", piece, place, call.id) for piece in cut(draw, call.arguments)]
    return told


def told_by(telling: DeltaRenderer, deltas: list[Delta]) -> list[DeltaEvent]:
    events: list[DeltaEvent] = []
    for delta in deltas:
        events += telling.hear(delta)
    return events + telling.end()


def texts(events: list[DeltaEvent]) -> dict[tuple[str, str], str]:
    joined: dict[tuple[str, str], str] = {}
    for event in events:
        if event.call_id is None:
            key = event.message_id, event.message_type
            joined[key] = joined.get(key, "") + event.text
    return joined


def called(events: list[DeltaEvent]) -> dict[tuple[str, str], dict[str, tuple[str, str]]]:
    """For each message, its calls by their ids: name and arguments, put together as clients do."""
    found: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    for event in events:
        if event.call_id is not None:
            of_message = found.setdefault((event.message_id, event.message_type), {})
            name, written = of_message.get(event.call_id, ("", ""))
            of_message[event.call_id] = name + (event.name or ""), written + event.text
    return found


def read(arguments: str) -> dict[str, Any]:
    """The arguments as a row has them: without halves of surrogate pairs, which the model may have spelled out."""
    values = all_storable(json.loads(arguments, strict=False))
    values.pop("request_heartbeat", None)
    return values


@given(st.data(), replies(), st.sampled_from(list(AgentType)), st.booleans(), st.booleans())
def test_the_pieces_put_together_are_what_the_rows_show(
    data: st.DataObject, reply: ModelReply, kind: AgentType, parallel: bool, mapped: bool
) -> None:
    made = actor(kind, parallel=parallel)
    legacy = made.spec.heartbeats
    how = Rendering(legacy=legacy, use_assistant_message=mapped)
    telling = DeltaRenderer(made, STAMP, how, parallel=parallel and not legacy)
    events = told_by(telling, pieces_of(data.draw, reply))
    whole = as_stored(made, reply)
    calls = calls_of(made, whole, (), None)
    held = any(call.needs_approval for call in calls)
    rows = step_rows.request(made, whole, STAMP, calls) if held else (step_rows.assistant(made, whole, STAMP, calls),)
    shown = [message for row in rows for message in render(row, how)]
    spoken, asked = texts(events), called(events)
    expected: dict[tuple[str, str], str] = {}
    for message in shown:
        key = message.id, message.message_type
        if message.message_type in ("reasoning_message", "assistant_message"):
            expected[key] = expected.get(key, "") + (
                message.reasoning if message.message_type == "reasoning_message" else str(message.content)
            )
        elif message.message_type in telling.shown:
            assert message.message_type in ("tool_call_message", "approval_request_message")
            as_shown = {call.tool_call_id: (call.name, read(call.arguments)) for call in message.tool_calls or ()}
            put_together = {call_id: (name, read(written)) for call_id, (name, written) in asked.pop(key).items()}
            for call_id, (name, values) in put_together.items():
                if message.message_type == "approval_request_message" or not legacy:
                    values.pop("thinking", None)
                    as_shown[call_id][1].pop("thinking", None)
                assert as_shown[call_id] == (name, values)
            assert put_together.keys() == as_shown.keys()
    assert asked == {}
    assert {key: text for key, text in spoken.items() if text} == {key: text for key, text in expected.items() if text}
    assert {event.message_type for event in events} == telling.shown


@given(st.data(), ANSWERS, st.sampled_from([AgentType.LETTA_V1, AgentType.MEMGPT]))
def test_whatever_the_model_says_can_be_told(data: st.DataObject, answer: object, kind: AgentType) -> None:
    if not isinstance(answer, ModelReply):
        return
    made = actor(kind)
    telling = DeltaRenderer(made, STAMP, Rendering(legacy=made.spec.heartbeats), parallel=not made.spec.heartbeats)
    events = told_by(telling, pieces_of(data.draw, answer))
    for event in events:
        assert event == DeltaEvent.model_validate_json(event.model_dump_json())
    indexes = [event.index for event in events]
    assert indexes == sorted(indexes)
    assert all(
        (later.index == earlier.index) == (later.message_type == earlier.message_type) for earlier, later in pairwise(events)
    )


@given(st.data(), replies(), st.sampled_from([AgentType.LETTA_V1, AgentType.MEMGPT]))
def test_gathered_pieces_say_the_same(data: st.DataObject, reply: ModelReply, kind: AgentType) -> None:
    made = actor(kind)
    events = told_by(
        DeltaRenderer(made, STAMP, Rendering(legacy=made.spec.heartbeats), parallel=True), pieces_of(data.draw, reply)
    )
    gathered: list[DeltaEvent] = []
    for event in events:
        gathered = merged(gathered, [event])
    assert (texts(gathered), called(gathered)) == (texts(events), called(events))
    assert len(gathered) <= len(events)
    assert [event.name for event in gathered if event.name is not None] == [
        event.name for event in events if event.name is not None
    ]


@given(st.data(), arguments())
def test_arguments_are_read_as_the_whole_would_be(data: st.DataObject, raw: str) -> None:
    reader = ArgumentReader(frozenset({"message"}))
    told = [piece for text in cut(data.draw, raw) for piece in reader.feed(text)]
    values = all_storable(json.loads(raw))
    message = values.pop("message", None)
    said = "".join(piece.text for piece in told if piece.member == "message")
    whole = "" if message is None else message if isinstance(message, str) else str(message)
    assert said == whole
    assert all_storable(json.loads("".join(piece.text for piece in told if piece.member == REST))) == values


def joined(pieces: list[Piece]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for member, text in pieces:
        texts[member] = texts.get(member, "") + text
    return texts


@given(st.data(), arguments() | st.text(alphabet='{}[]":,\\ u0ad8message\n', max_size=40).map('{{"message":{}'.format) | TEXTS)
def test_wherever_the_arguments_are_cut_the_same_is_told(data: st.DataObject, raw: str) -> None:
    raw, members = storable(raw), frozenset({"message", "a"})
    reader = ArgumentReader(members)
    told = [piece for text in cut(data.draw, raw) for piece in reader.feed(text)]
    assert joined(told) == joined(ArgumentReader(members).feed(raw))


def steps_to_read(raw: str) -> int:
    """Calls of the reader's own functions: each takes a run of characters at once."""
    steps = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal steps
        steps += event == "call" and frame.f_code.co_filename == argument_reader.__file__

    reader = ArgumentReader(frozenset({"message"}))
    sys.setprofile(count)
    try:
        reader.feed(raw)
    finally:
        sys.setprofile(None)
    return steps


@pytest.mark.parametrize("raw", ['{{"message": "{}"}}', '{{"x": "{}"}}', '{{"{}": 1}}', '{{"message": [{}1]}}', "{}"])
def test_a_long_text_in_one_piece_takes_no_more_steps_than_a_short_one(raw: str) -> None:
    assert steps_to_read(raw.format("a " * 100_000)) == steps_to_read(raw.format("a "))


def test_escapes_take_as_many_steps_as_there_are_of_them() -> None:
    few, many, most = (steps_to_read('{"message": "' + "\\n\\u00e9" * count + '"}') for count in (100, 200, 400))
    assert most - many == 2 * (many - few) <= 200 * 20


def test_only_the_first_call_is_told_where_only_one_may_be_made() -> None:
    made = actor(AgentType.LETTA_V1, parallel=False)
    telling = DeltaRenderer(made, STAMP, Rendering(), parallel=False)
    calls = [Delta("tool_name", "ring", place, f"c-{place}") for place in (0, 1)]
    assert [event.call_id for event in told_by(telling, calls)] == ["c-0"]


def test_the_first_piece_of_a_call_is_its_name_and_the_others_have_none() -> None:
    telling = DeltaRenderer(actor(AgentType.LETTA_V1), STAMP, Rendering(), parallel=True)
    told = [Delta("tool_name", "ring", 0, "c"), Delta("tool_arguments", '{"x": ', 0, "c"), Delta("tool_arguments", "1}", 0, "c")]
    assert [(event.name, event.text) for event in told_by(telling, told)] == [("ring", ""), (None, '{"x": '), (None, "1}")]


def test_what_send_message_says_is_told_as_it_is_written_and_its_thoughts_as_reasoning() -> None:
    telling = DeltaRenderer(actor(AgentType.MEMGPT), STAMP, Rendering(legacy=True), parallel=False)
    written = ['{"thin', 'king": "Hm', '. ", "message": "Hi \\ud8', "3d\\ude0", '0!", "request_heartbeat": false}']
    deltas = [Delta("tool_name", "send_message", 0, "c"), *(Delta("tool_arguments", piece, 0, "c") for piece in written)]
    assert [(event.message_type, event.text, event.index) for event in told_by(telling, deltas)] == [
        ("reasoning_message", "Hm", 0),
        ("reasoning_message", ". ", 0),
        ("assistant_message", "Hi ", 1),
        ("assistant_message", "\U0001f600!", 1),
    ]


def test_calls_that_wait_for_an_answer_are_told_under_the_other_row() -> None:
    telling = DeltaRenderer(actor(AgentType.LETTA_V1), STAMP, Rendering(), parallel=True)
    names = [Delta("tool_name", name, place, name) for place, name in enumerate(["ring", "launch", "at_the_client"])]
    assert [(event.message_type, event.message_id) for event in told_by(telling, names)] == [
        ("tool_call_message", "message-a"),
        ("approval_request_message", "message-b"),
        ("approval_request_message", "message-b"),
    ]


def test_a_call_id_that_comes_twice_is_told_as_the_row_has_it() -> None:
    reply = ModelReply(
        tool_calls=(ModelToolCall("c", "ring", "{}"), ModelToolCall("c", "ring", "{}"), ModelToolCall("", "ring", "{}"))
    )
    made = actor(AgentType.LETTA_V1)
    told = told_by(
        DeltaRenderer(made, STAMP, Rendering(), parallel=True),
        [Delta("tool_name", call.name, place, call.id) for place, call in enumerate(reply.tool_calls)],
    )
    assert [event.call_id for event in told] == [call.id for call in calls_of(made, replace(reply), (), None)]
