"""Rows of the log as clients see them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hibernaut.domain.tools.tool_returns import heartbeat, pack, user_message
from hibernaut.domain.wire.letta_messages import Rendering, render
from hibernaut.schemas.content import (
    ImageContent,
    OmittedReasoningContent,
    ReasoningContent,
    RedactedReasoningContent,
    SummarizedReasoningContent,
    SummarizedReasoningPart,
    TextContent,
    UrlImage,
)
from hibernaut.schemas.messages.letta_message import LettaMessage
from hibernaut.schemas.messages.message import FunctionCall, Message, ToolCall, ToolReturn

NOW = datetime(2026, 3, 1, 9, 15, 0, 123456, tzinfo=UTC)
UUID = "019b76da-a800-468a-aeda-77cf03370300"
ID = f"message-{UUID}"
PLAIN = Rendering()
LEGACY = Rendering(legacy=True)
THOUGHT = TextContent(text="hm")


def row(role: str, *content: Any, **fields: Any) -> Message:
    parts = [TextContent(text=part) if isinstance(part, str) else part for part in content]
    return Message.model_validate({"id": ID, "role": role, "content": parts, "agent_id": "agent-1", "created_at": NOW, **fields})


def call(name: str = "boom", arguments: str = '{"a": 1}', id: str = "call_1") -> ToolCall:
    return ToolCall(id=id, function=FunctionCall(name=name, arguments=arguments))


def returned(text: str = "done", id: str = "call_1", **fields: Any) -> ToolReturn:
    return ToolReturn(tool_call_id=id, status="success", func_response=pack("success", text, NOW, "UTC")).model_copy(
        update=fields
    )


def shown(message: Message, how: Rendering = PLAIN) -> list[dict[str, Any]]:
    return [one.model_dump() for one in render(message, how)]


def kinds(messages: list[LettaMessage]) -> list[str]:
    return [one.message_type for one in messages]


def test_the_fields_that_all_messages_share() -> None:
    (message,) = shown(row("user", "hi", otid="mine", step_id="step-1", run_id="run-1", sender_id="s", name="Ann", is_err=False))
    assert message == {
        "id": ID,
        "date": "2026-03-01T09:15:00+00:00",
        "name": "Ann",
        "message_type": "user_message",
        "otid": "mine",
        "sender_id": "s",
        "step_id": "step-1",
        "is_err": None,
        "seq_id": None,
        "run_id": "run-1",
        "content": "hi",
    }
    assert shown(row("user", "hi", is_err=True))[0]["is_err"] is True


def test_what_one_row_says_shares_its_id_and_counts_its_otids() -> None:
    message = row(
        "assistant",
        ReasoningContent(reasoning="native", signature="s"),
        ReasoningContent(reasoning="told", is_native=False),
        RedactedReasoningContent(data="x"),
        OmittedReasoningContent(),
        "words",
        tool_calls=[call(), call(id="call_2")],
    )
    messages = shown(message)
    assert {one["id"] for one in messages} == {ID}
    assert [one["otid"] for one in messages] == [f"{UUID[:-2]}{index:02x}" for index in range(6)]
    assert [(one["message_type"], one.get("source") or one.get("state")) for one in messages] == [
        ("reasoning_message", "reasoner_model"),
        ("reasoning_message", "non_reasoner_model"),
        ("hidden_reasoning_message", "redacted"),
        ("hidden_reasoning_message", "omitted"),
        ("assistant_message", None),
        ("tool_call_message", None),
    ]
    assert (messages[0]["reasoning"], messages[0]["signature"], messages[2]["hidden_reasoning"]) == ("native", "s", "x")
    assert messages[4]["content"] == "words"
    assert messages[5]["tool_call"] == {"name": "boom", "arguments": '{"a": 1}', "tool_call_id": "call_1"}
    assert [one["tool_call_id"] for one in messages[5]["tool_calls"]] == ["call_1", "call_2"]


def test_a_row_that_says_nothing_shows_nothing() -> None:
    assert render(row("assistant"), PLAIN) == []


def test_summarized_reasoning_is_shown_by_its_summary_or_as_omitted() -> None:
    parts = [SummarizedReasoningPart(index=index, text=text) for index, text in enumerate(("first", "second"))]
    assert shown(row("assistant", SummarizedReasoningContent(id="r", summary=parts)))[0]["reasoning"] == "first\n\nsecond"
    assert shown(row("assistant", SummarizedReasoningContent(id="r", summary=[])))[0]["state"] == "omitted"


def test_text_is_reasoning_where_the_caller_says_so_and_for_legacy_agents() -> None:
    assert kinds(render(row("assistant", "hm"), PLAIN)) == ["assistant_message"]
    for how in (LEGACY, Rendering(text_is_reasoning=True)):
        (thought,) = shown(row("assistant", "hm"), how)
        assert (thought["reasoning"], thought["source"]) == ("hm", "non_reasoner_model")


def test_a_legacy_agent_speaks_by_its_tool() -> None:
    asked = row("assistant", THOUGHT, tool_calls=[call("send_message", '{"message": "hello"}')])
    answered = row("tool", name="send_message", tool_returns=[returned()])
    thought, spoken = shown(asked, LEGACY)
    assert (thought["message_type"], spoken["message_type"], spoken["content"]) == (
        "reasoning_message",
        "assistant_message",
        "hello",
    )
    assert spoken["otid"] == f"{UUID[:-2]}01"
    assert render(answered, LEGACY) == []
    for how in (Rendering(legacy=True, use_assistant_message=False), PLAIN):
        assert kinds([*render(asked, how), *render(answered, how)])[1:] == ["tool_call_message", "tool_return_message"]


def test_the_speaking_tool_can_be_another_one() -> None:
    how = Rendering(legacy=True, assistant_tool="say", assistant_kwarg="words")
    spoken = row("assistant", tool_calls=[call("say", '{"words": 5}'), call("send_message", '{"message": "x"}', "call_2")])
    first, second = shown(spoken, how)
    assert (first["message_type"], first["content"]) == ("assistant_message", "5")
    assert [one["name"] for one in second["tool_calls"]] == ["send_message"]


def test_another_tool_with_a_message_is_no_speech() -> None:
    note = row("assistant", tool_calls=[call("note", '{"message": "x"}')])
    assert kinds(render(note, LEGACY)) == ["tool_call_message"]
    assert kinds(render(row("tool", name="note", tool_returns=[returned()]), LEGACY)) == ["tool_return_message"]


@pytest.mark.parametrize("arguments", ["{}", "broken", "[]", '{"message": null}'])
def test_a_call_that_says_nothing_readable_stays_a_call(arguments: str) -> None:
    assert kinds(render(row("assistant", tool_calls=[call("send_message", arguments)]), LEGACY)) == ["tool_call_message"]


def test_a_refused_message_is_not_hidden() -> None:
    refused = row("tool", name="send_message", tool_returns=[returned(status="error")])
    assert kinds(render(refused, LEGACY)) == ["tool_return_message"]


def test_returns_are_unpacked_and_the_first_stands_at_the_top_too() -> None:
    one, two = returned("it's", stdout=["a"], stderr=["b"]), returned("no", "call_2", status="error")
    (message,) = shown(row("tool", name="boom", tool_returns=[one, two]))
    first = {"tool_return": "it's", "status": "success", "tool_call_id": "call_1", "stdout": ["a"], "stderr": ["b"]}
    assert {key: message[key] for key in first} == first
    assert message["tool_returns"][0] == {"type": "tool", **first}
    assert (message["tool_returns"][1]["tool_return"], message["tool_returns"][1]["status"]) == ("no", "error")
    assert message["name"] is None
    assert shown(row("tool", name="boom", tool_returns=[one]))[0]["name"] == "boom"


def test_a_row_with_its_return_in_its_text_only_is_understood() -> None:
    (message,) = shown(row("tool", pack("error", "no", NOW, "UTC"), name="boom", tool_call_id="call_1"))
    assert (message["tool_return"], message["status"], message["tool_call_id"]) == ("no", "error", "call_1")
    assert shown(row("tool", "plain"))[0]["status"] == "success"


def test_a_users_parts_stay_parts_and_a_single_text_becomes_text() -> None:
    image = ImageContent(source=UrlImage(url="https://example.org/cat.png"))
    assert [part["type"] for part in shown(row("user", "look", image))[0]["content"]] == ["text", "image"]
    assert shown(row("user", image))[0]["content"][0]["type"] == "image"
    assert shown(row("user"))[0]["content"] == ""


def test_only_a_packed_user_message_is_unwrapped() -> None:
    packed = user_message("hi", None, NOW, "UTC")
    assert shown(row("user", packed, wrapped=True))[0]["content"] == "hi"
    assert shown(row("user", packed))[0]["content"] == packed, "a caller wrote it: people see what the model reads"
    beat = heartbeat("go on", NOW, "UTC")
    assert shown(row("user", beat))[0]["content"] == beat


def test_the_system_speaks_in_text() -> None:
    assert [(one["message_type"], one["content"], one["name"]) for one in shown(row("system", "a", "b", name="x"))] == [
        ("system_message", "a\nb", None)
    ]


STATS = '{"trigger": "t", "context_window": 9, "messages_count_before": 5, "messages_count_after": 2}'
SUMMARY = f'{{"type": "system_alert", "message": "we met", "compaction_stats": {STATS}}}'


def test_a_summary_is_the_users_words_unless_summaries_are_asked_for() -> None:
    assert shown(row("summary", SUMMARY))[0] == shown(row("user", SUMMARY))[0]
    (message,) = shown(row("summary", SUMMARY), Rendering(types=frozenset({"summary_message"})))
    assert (message["summary"], message["compaction_stats"]["messages_count_before"]) == ("we met", 5)
    assert kinds(render(row("summary", SUMMARY), Rendering(types=frozenset({"user_message"})))) == ["user_message"]
    (plain,) = shown(row("summary", "we met"), Rendering(types=frozenset({"summary_message"})))
    assert (plain["summary"], plain["compaction_stats"]) == ("we met", None)


def test_an_approval_request_follows_the_words_and_has_the_whole_id_as_otid() -> None:
    words, request = shown(row("approval", "may I?", tool_calls=[call(), call(id="call_2")]))
    assert (words["message_type"], words["otid"]) == ("assistant_message", f"{UUID[:-2]}00")
    assert (request["message_type"], request["id"], request["otid"]) == ("approval_request_message", ID, ID)
    assert request["tool_call"]["tool_call_id"] == "call_1"
    assert len(request["tool_calls"]) == 2


def test_an_answer_shows_its_items_and_the_first_at_the_top() -> None:
    items = [
        {"type": "tool", "tool_call_id": "call_2", "tool_return": "42", "status": "success"},
        {"type": "approval", "tool_call_id": "call_1", "approve": False, "reason": "nope"},
    ]
    (answer,) = shown(row("approval", approvals=items, approval_request_id=ID))
    assert [item["type"] for item in answer["approvals"]] == ["tool", "approval"]
    assert (answer["approve"], answer["reason"], answer["approval_request_id"]) == (False, "nope", "call_1")
    assert answer["otid"] is None
    assert shown(row("approval", approvals=[], otid="mine"))[0]["otid"] == "mine"


def test_an_answer_in_the_old_form_is_shown_in_it() -> None:
    (answer,) = shown(row("approval", approve=True, denial_reason="why"))
    assert (answer["message_type"], answer["approvals"], answer["approve"], answer["reason"]) == (
        "approval_response_message",
        None,
        True,
        "why",
    )


def test_types_filter_what_is_shown_but_not_its_otids() -> None:
    message = row("assistant", ReasoningContent(reasoning="hm"), "words")
    (only,) = shown(message, Rendering(types=frozenset({"assistant_message"})))
    assert only["otid"] == f"{UUID[:-2]}01"
    assert render(message, Rendering(types=frozenset())) == []


def test_rows_are_shown_in_their_order() -> None:
    rows = [row("user", "hi"), row("assistant", "hello", tool_calls=[call()]), row("tool", tool_returns=[returned()])]
    assert kinds([shown for each in rows for shown in render(each, PLAIN)]) == [
        "user_message",
        "assistant_message",
        "tool_call_message",
        "tool_return_message",
    ]
