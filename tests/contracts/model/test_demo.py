"""The demo model: what its script understands, and that it truly uses the tools it is offered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.model.demo.demo import DemoModel
from hibernaut.adapters.model.demo.demo_words import fact, wish
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, ToolChoice, ToolSpec
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.llm_config import LLMConfig
from tests.support.rows import MEMORY_INSERT, MEMORY_REPLACE, SEARCH, SEND_MESSAGE, TEXT, Rows, called, gave, prompt, tool

CONFIG = LLMConfig(model="demo", model_endpoint_type="hibernaut", context_window=128_000)
V1 = (SEARCH, MEMORY_REPLACE, MEMORY_INSERT)
INTRODUCED = "I am Hibernaut's small built-in demo model."


def ask(messages: Sequence[Message], *, human: str = "", tools: Sequence[ToolSpec] = V1, **fields: Any) -> ModelReply:
    return DemoModel().complete(ModelRequest(config=CONFIG, system=prompt(human), messages=messages, tools=tools, **fields))


def said(text: str) -> list[Message]:
    rows = Rows()
    return [rows.user("hello"), rows.assistant(INTRODUCED), rows.user(text)]


def arguments(reply: ModelReply) -> Any:
    [call] = reply.tool_calls
    return json.loads(call.arguments)


def test_the_first_reply_says_what_the_model_is_and_how_to_add_a_key() -> None:
    reply = ask([Rows().user("Good morning")])
    assert "demo model" in reply.text
    assert "OPENAI_API_KEY" in reply.text
    assert "demo model" not in ask(said("Good morning")).text


def test_a_fact_to_remember_is_written_to_the_human_block_and_then_confirmed() -> None:
    messages = said("Please remember that my dog is called Rex.")
    reply = ask(messages)
    assert (reply.tool_calls[0].name, reply.finish_reason) == ("memory_insert", "tool_calls")
    assert arguments(reply) == {"label": "human", "new_string": "The user's dog is called Rex."}
    rows = Rows(iter(range(50, 60)))
    call = reply.tool_calls[0]
    messages += [rows.assistant("", called(call.id, call.name, **arguments(reply))), rows.tool(gave(call.id, "new value"))]
    after = ask(messages)
    assert (after.tool_calls, after.finish_reason) == ((), "stop")
    assert "Rex" in after.text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("core_memory_append", {"label": "human", "content": "The user's name is Ada."}),
        ("memory", {"command": "insert", "path": "/memories/human", "insert_line": 1, "insert_text": "The user's name is Ada."}),
        ("memory_rethink", {"label": "human", "new_memory": "Likes tea.\nThe user's name is Ada."}),
    ],
)
def test_it_uses_whichever_memory_tool_the_agent_has(name: str, expected: dict[str, Any]) -> None:
    reply = ask(said("My name is Ada"), human="Likes tea.", tools=[tool(name)])
    assert (reply.tool_calls[0].name, arguments(reply)) == (name, expected)


def test_it_answers_from_the_block_in_its_prompt() -> None:
    human = "The user's dog is called Rex.\nThe user lives in Oslo."
    everything = ask(said("What do you know about me?"), human=human).text
    assert "Rex" in everything
    assert "Oslo" in everything
    one = ask(said("What is my dog's name?"), human=human).text
    assert "Rex" in one
    assert "Oslo" not in one


def test_it_sees_an_edit_of_this_run_before_its_prompt_does() -> None:
    rows = Rows()
    edit = called("call_1", "memory_insert", label="human", new_string="The user lives in Oslo.")
    messages = [rows.user("I live in Oslo"), rows.assistant("", edit), rows.tool(gave("call_1", "The user lives in Oslo."))]
    messages += [rows.assistant(INTRODUCED), rows.user("Where do I live?")]
    assert "Oslo" in ask(messages, human="").text


def test_a_refused_edit_is_reported_and_not_believed() -> None:
    rows = Rows()
    edit = called("call_1", "memory_insert", label="human", new_string="x")
    messages = [rows.user("I live in Oslo"), rows.assistant("", edit), rows.tool(gave("call_1", "The block is full", "error"))]
    assert "The block is full" in ask(messages).text
    messages += [rows.assistant(INTRODUCED), rows.user("who am i")]
    assert "The block is full" not in ask(messages).text


def test_a_line_to_forget_is_taken_out_with_its_line_break() -> None:
    reply = ask(said("Forget my dog"), human="The user lives in Oslo.\nThe user's dog is called Rex.")
    assert arguments(reply) == {"label": "human", "old_string": "\nThe user's dog is called Rex.", "new_string": ""}
    assert "nothing about my cat" in ask(said("forget my cat"), human="Likes tea.").text


def test_numbered_lines_are_read_without_their_numbers() -> None:
    request = ModelRequest(
        config=CONFIG, system=prompt("Likes tea.\nHas a dog.", numbered=True), messages=said("forget my dog"), tools=V1
    )
    assert arguments(DemoModel().complete(request))["old_string"] == "\nHas a dog."


def test_a_block_that_is_read_only_is_left_alone() -> None:
    request = ModelRequest(config=CONFIG, system=prompt("x", read_only=True), messages=said("My name is Ada"), tools=V1)
    assert arguments(DemoModel().complete(request))["label"] == "persona"


@pytest.mark.parametrize(
    ("words", "name", "expected"),
    [
        ("Search our conversation for Rex", "conversation_search", {"query": "Rex"}),
        ("archive: the door code is 42", "archival_memory_insert", {"content": "the door code is 42"}),
        ("look in your archive for the door code", "archival_memory_search", {"query": "the door code"}),
        ('call roll_dice with {"sides": 6}', "roll_dice", {"sides": 6}),
        ("use roll_dice sides=6", "roll_dice", {"sides": "6"}),
        ("please use the tool echo with hello there", "echo", {"text": "hello there"}),
        ("call echo with {broken", "echo", {}),
    ],
)
def test_it_calls_the_tool_that_the_words_ask_for(words: str, name: str, expected: dict[str, Any]) -> None:
    offered = [tool(n) for n in ("conversation_search", "archival_memory_insert", "archival_memory_search", "roll_dice")]
    reply = ask(said(words), tools=[*offered, tool("echo", required=("text",), text=TEXT)])
    assert (reply.tool_calls[0].name, arguments(reply)) == (name, expected)


def test_what_a_tool_returned_is_told() -> None:
    rows = Rows()
    messages = [
        rows.user("call roll_dice with {}"),
        rows.assistant("", called("c", "roll_dice")),
        rows.tool(gave("c", {"rolled": 4})),
    ]
    assert '{"rolled": 4}' in ask(messages, tools=[tool("roll_dice")]).text


def test_a_legacy_agent_speaks_by_send_message_and_asks_to_be_called_again_after_an_edit() -> None:
    beat = {"request_heartbeat": {"type": "boolean"}, "thinking": TEXT}
    tools = [tool("send_message", required=("message",), message=TEXT), tool("core_memory_append", **beat)]
    required = ToolChoice("required")
    edit = ask(said("I live in Oslo"), tools=tools, choice=required)
    assert edit.tool_calls[0].name == "core_memory_append"
    assert arguments(edit)["request_heartbeat"] is True
    assert arguments(edit)["thinking"]
    spoken = ask(said("Good morning"), tools=tools, choice=required)
    assert spoken.text == ""
    assert list(arguments(spoken)) == ["message"]


def test_a_legacy_agent_that_has_spoken_does_not_ask_to_be_called_again() -> None:
    speaks = tool("send_message", required=("message",), message=TEXT, request_heartbeat={"type": "boolean"})
    assert arguments(ask(said("Good morning"), tools=[speaks]))["request_heartbeat"] is False
    assert arguments(ask(said("call send_message with {}"), tools=[speaks]))["message"]


def test_a_named_tool_is_called_with_what_its_schema_requires() -> None:
    schema = {"label": {"enum": ["human"]}, "n": {"type": "integer"}, "note": {"type": ["null", "string"]}}
    forced = tool("store", required=("label", "n", "note"), **schema)
    reply = ask(said("hello"), tools=[SEND_MESSAGE, forced], choice=ToolChoice("named", "store"))
    assert arguments(reply) == {"label": "human", "n": 0, "note": None}


def test_where_a_tool_is_required_and_none_fits_it_finishes() -> None:
    reply = ask(said("hello"), tools=[MEMORY_INSERT, tool("memory_finish_edits")], choice=ToolChoice("required"))
    assert reply.tool_calls[0].name == "memory_finish_edits"


def test_no_tool_is_called_where_none_may_be() -> None:
    assert ask(said("My name is Ada"), choice=ToolChoice("none")).tool_calls == ()


def test_a_heartbeat_that_names_a_tool_makes_it_call_that_tool() -> None:
    messages = said("hello")
    reason = json.dumps(
        {"type": "heartbeat", "reason": "ToolRuleViolated: You must call roll_dice at least once to exit the loop."}
    )
    messages.append(Rows(iter([90])).user(reason))
    assert ask(messages, tools=[SEND_MESSAGE, tool("roll_dice")]).tool_calls[0].name == "roll_dice"


def test_a_tool_that_was_called_already_is_not_called_for_a_heartbeat_again() -> None:
    rows = Rows()
    messages = [rows.user("hello"), rows.assistant("", called("c", "roll_dice")), rows.tool(gave("c", 4))]
    messages.append(rows.user(json.dumps({"type": "heartbeat", "reason": "roll_dice was called"})))
    assert ask(messages, tools=[tool("roll_dice")]).tool_calls == ()


def test_what_is_known_already_is_not_written_twice() -> None:
    reply = ask(said("My name is Ada"), human="The user's name is Ada.")
    assert reply.tool_calls == ()
    assert "already" in reply.text


def test_arguments_of_a_wrong_kind_in_the_log_are_looked_past() -> None:
    rows = Rows()
    odd = called("c", "memory_insert", label=["human"], new_string={"a": 1})
    assert ask([rows.user("My name is Ada"), rows.assistant("", odd), rows.tool(gave("c", "text"))]).text


def test_a_wrapped_message_is_understood() -> None:
    text = json.dumps({"type": "user_message", "message": "My name is Ada", "time": "now"})
    assert arguments(ask([Rows().user(text).model_copy(update={"wrapped": True})]))["new_string"] == "The user's name is Ada."


def test_a_transcript_is_summarised_without_an_introduction() -> None:
    text = "<start_transcript>\n[user] I live in Oslo\n[assistant] Noted\n<end_transcript>"
    reply = ask([Rows().user(text)], tools=())
    assert "I live in Oslo" in reply.text
    assert "demo model" not in reply.text


def test_the_same_request_gets_the_same_reply_in_pieces_that_make_the_whole() -> None:
    pieces: list[Delta] = []
    request = ModelRequest(config=CONFIG, system=prompt(), messages=said("My name is Ada"), tools=V1)
    reply = DemoModel().complete(request, pieces.append)
    assert reply == DemoModel().complete(request)
    assert "".join(piece.text for piece in pieces if piece.kind == "tool_arguments") == reply.tool_calls[0].arguments
    words: list[Delta] = []
    spoken = DemoModel().complete(replace(request, tools=()), words.append)
    assert "".join(word.text for word in words) == spoken.text
    assert len(words) > 5


def test_calls_of_two_steps_have_ids_of_their_own() -> None:
    rows = Rows()
    messages = [rows.user("call roll_dice with {}")]
    first = ask(messages, tools=[tool("roll_dice")]).tool_calls[0].id
    messages += [rows.assistant("ok"), rows.user("call roll_dice with {}")]
    assert ask(messages, tools=[tool("roll_dice")]).tool_calls[0].id != first


def test_tokens_are_counted_in_fours_of_characters() -> None:
    usage = ask([Rows().user("x" * 400)], tools=()).usage
    assert usage.prompt_tokens >= 100
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


@pytest.mark.parametrize(
    ("words", "note"),
    [
        ("I'm a nurse and I have two cats!", "The user is a nurse and the user has two cats."),
        ("I study music", "The user studies music."),
        ("call me Bo", "The user's name is Bo."),
    ],
)
def test_notes_are_written_about_the_person(words: str, note: str) -> None:
    assert fact(words) == note


@pytest.mark.parametrize(
    "words", ["Do you remember my dog?", "what's my name?", "Hi! Who am I?", "so, what do you remember about me"]
)
def test_a_question_about_the_person_is_a_question(words: str) -> None:
    assert wish(words).kind == "recall"


TEXTS = st.text() | st.sampled_from(
    ["remember that", "forget ", "call x with {", '{"type": "user_message"}', "{}", "my name is \ud800"]
)
SCHEMAS = st.recursive(st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
TOOLS = st.builds(
    lambda name, parameters: ToolSpec(name=name, description="", parameters=parameters),
    st.sampled_from(["memory_insert", "send_message", "memory", "x"]) | st.text(min_size=1),
    st.dictionaries(st.sampled_from(["type", "properties", "required"]), SCHEMAS),
)
CHOICES = st.builds(
    ToolChoice, st.sampled_from(["auto", "required", "named", "none"]), st.none() | st.sampled_from(["x", "send_message"])
)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXTS, TEXTS)), TEXTS, st.lists(TOOLS), CHOICES)
def test_nothing_that_is_said_makes_it_fail(
    turns: list[tuple[str, str, str]], human: str, tools: list[ToolSpec], choice: ToolChoice
) -> None:
    rows, messages = Rows(), []
    for number, (role, text, more) in enumerate(turns):
        if role == "user":
            messages.append(rows.user(text))
        elif role == "assistant":
            messages.append(rows.assistant(text, called(str(number), more, label=text)))
        else:
            messages.append(rows.tool(gave(str(number - 1), more), name=text))
    reply = ask(messages, human=human, tools=tools, choice=choice)
    assert bool(reply.text) != bool(reply.tool_calls)
    assert all(call.name in {offered.name for offered in tools} for call in reply.tool_calls)
