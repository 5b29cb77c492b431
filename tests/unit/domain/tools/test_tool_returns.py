"""The envelopes that go to the model, and the arguments that come back."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from hibernaut.domain.tools.tool_returns import (
    Arguments,
    as_text,
    clip,
    clipped,
    heartbeat,
    json_object,
    login,
    pack,
    repair_arguments,
    system_alert,
    unpack,
    unwrapped,
    user_message,
)
from hibernaut.schemas.base import Json
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.messages.message import Message

NOW = datetime(2026, 3, 1, 9, 15, tzinfo=UTC)
TIME = "2026-03-01 09:15:00 AM UTC+0000"


def test_a_return_is_packed_as_indented_json() -> None:
    expected = f'{{\n  "status": "OK",\n  "message": "grün",\n  "time": "{TIME}"\n}}'
    assert pack("success", "grün", NOW, "UTC") == expected
    assert json.loads(pack("error", "no", NOW, "UTC"))["status"] == "Failed"


@pytest.mark.parametrize(
    ("value", "packed", "shown"),
    [
        (None, "None", "None"),
        ("as is", "as is", "as is"),
        ({"a": None, "b": ["x"]}, {"a": None, "b": ["x"]}, "{'a': None, 'b': ['x']}"),
        (["x", 1, True], "['x', 1, True]", "['x', 1, True]"),
        (5, "5", "5"),
        ('{"status": "mine"}', '{"status": "mine"}', '{"status": "mine"}'),
    ],
)
def test_a_value_is_packed_for_the_model_and_unpacked_for_clients(value: Json, packed: Json, shown: str) -> None:
    text = pack("success", value, NOW, "UTC")
    assert json.loads(text)["message"] == packed
    assert unpack(text) == shown
    assert as_text(value) == shown


@pytest.mark.parametrize("text", ["", "plain", "[1]", "{broken", '{"message": "no status"}', '{"status": "OK"}', '{"a":' * 9_000])
def test_a_text_that_is_no_envelope_is_its_own_message(text: str) -> None:
    assert unpack(text) == text


def test_half_a_surrogate_pair_in_a_return_becomes_a_question_mark() -> None:
    assert "smile ? grün" in pack("success", "smile \ud83d grün", NOW, "UTC")


def test_a_long_return_is_cut_and_says_so() -> None:
    assert clip("12345", 5) == "12345"
    assert clip("123456", 5) == "12345... [function output was truncated after 5 characters, the tool's limit, of 6]"


@pytest.mark.parametrize(
    "note",
    [
        "... [NOTE: function output was truncated since it exceeded the character limit (90000 > 8)]",
        "... [function output was truncated after 8 characters, the tool's limit, of 90000]",
    ],
)
def test_a_return_that_was_cut_before_keeps_its_true_length(note: str) -> None:
    assert clip("12345678" + note, 5).endswith("the tool's limit, of 90000]")
    assert clip(note + "12345678", 5).endswith(f"of {len(note) + 8}]"), "a note within the text is no note of a cut"


def test_an_object_is_cut_as_its_json_text_and_a_short_one_stays_an_object() -> None:
    assert clipped({"a": "ä"}, 10) == {"a": "ä"}
    assert (
        clipped({"a": "ää"}, 10) == '{"a": "ää"... [function output was truncated after 10 characters, the tool\'s limit, of 11]'
    )
    assert clipped("123456", 5) == clip("123456", 5)


def test_events_carry_their_type_and_time() -> None:
    assert json.loads(login(NOW, "UTC")) == {"type": "login", "last_login": "Never (first login)", "time": TIME}
    assert json.loads(system_alert("fire", NOW, "UTC")) == {"type": "system_alert", "message": "fire", "time": TIME}
    assert json.loads(user_message("hi", None, NOW, "UTC")) == {"type": "user_message", "message": "hi", "time": TIME}
    assert json.loads(user_message("hi", "Ann", NOW, "UTC")) == {
        "type": "user_message",
        "message": "hi",
        "name": "Ann",
        "time": TIME,
    }
    assert "grün" in system_alert("grün", NOW, "UTC")
    beat = json.loads(heartbeat("go on", NOW, "UTC"))
    assert (beat["type"], beat["time"]) == ("heartbeat", TIME)
    assert beat["reason"].endswith("does not see] go on")


def test_only_a_user_message_is_unwrapped() -> None:
    def row(text: str, *, wrapped: bool = True) -> Message:
        return Message(
            id="message-1", role="user", content=[TextContent(text=text)], agent_id="agent-1", created_at=NOW, wrapped=wrapped
        )

    packed = user_message('say "user_message"', None, NOW, "UTC")
    assert unwrapped(row(packed)) == 'say "user_message"'
    assert unwrapped(row(packed, wrapped=False)) == packed, "what a caller wrote is shown as the model reads it"
    for text in (
        system_alert('"user_message"', NOW, "UTC"),
        'I say "user_message"',
        '{"type": "user_message"}',
        '{"type": "note", "message": "hi", "about": "user_message"}',
        '["user_message"]',
    ):
        assert unwrapped(row(text)) == text


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("  \n", {}),
        (' {"a": 1}\n', {"a": 1}),
        ('{"a": 1}{"b": 2}', {"a": 1}),
        ('{"a": 1}\n{"b": 2', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
        ('{"a": ["\\ud83d", {"\\ude00": "b"}]}', {"a": ["?", {"?": "b"}]}),
        ('{"a": "\\uD83D"}', {"a": "?"}),
        ('{"a": "\ud83d"}', {"a": "?"}),
    ],
)
def test_arguments_are_read_forgivingly(raw: str, values: dict[str, object]) -> None:
    assert repair_arguments(raw) == Arguments(values, request_heartbeat=None, thinking=None, broken=False)


@pytest.mark.parametrize(
    "raw",
    [
        "{",
        '{"a": }',
        "[1]",
        "null",
        "5",
        '"hi"',
        '{"a": 1} and so on',
        '{"a": NaN}',
        '"[1]"',
        '"{"',
        "[" * 9_000,
        '{"a":' + "9" * 5_000 + "}",
    ],
)
def test_what_is_no_object_is_broken(raw: str) -> None:
    assert repair_arguments(raw) == Arguments({}, broken=True)


@pytest.mark.parametrize(
    ("flag", "meant"), [("true", True), ("false", False), ('"True"', True), ('"no"', False), ("1", True), ("null", None)]
)
def test_the_heartbeat_flag_and_the_thought_are_taken_out(flag: str, meant: bool | None) -> None:
    raw = f'{{"a": 1, "request_heartbeat": {flag}, "thinking": "hm"}}'
    assert repair_arguments(raw) == Arguments({"a": 1}, request_heartbeat=meant, thinking="hm")


def test_only_an_object_is_a_json_object() -> None:
    assert json_object('{"a": 1}') == {"a": 1}
    assert [json_object(text) for text in ("[1]", "{", "", '{"a":' * 9_000)] == [None] * 4
