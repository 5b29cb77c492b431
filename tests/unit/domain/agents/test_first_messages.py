"""What an agent's log begins with."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from hibernaut.domain.agents.first_messages import Opening, boot_sequence, initial_sequence
from hibernaut.domain.tools.tool_returns import unpack
from hibernaut.schemas.content import ImageContent, TextContent, UrlImage
from hibernaut.schemas.ids import compose, derived_otid
from hibernaut.schemas.runs.send import MessageCreate

NOW = datetime(2026, 3, 1, 9, 15, tzinfo=UTC)
IDS = [compose("message", 1_000, counter, 0xABCDEF) for counter in range(9)]


def opening() -> Opening:
    return Opening("agent-1", iter(IDS), NOW, "UTC", model="m")


def test_the_boot_sequence_is_a_greeting_its_return_and_a_login() -> None:
    asked, returned, login = boot_sequence(opening())
    assert [row.id for row in (asked, returned, login)] == IDS[:3]
    assert [(row.role, row.model) for row in (asked, returned, login)] == [("assistant", "m"), ("tool", None), ("user", None)]
    assert asked.tool_calls is not None
    assert asked.tool_calls[0].function.name == returned.name == "send_message"
    assert asked.tool_calls[0].id == returned.tool_call_id == returned.tool_returns[0].tool_call_id
    assert json.loads(asked.tool_calls[0].function.arguments)["message"]
    assert unpack(returned.tool_returns[0].func_response or "") == "Sent message successfully."
    assert json.loads(login.text())["type"] == "login"


def test_a_given_sequence_is_packed_and_the_agents_words_are_spoken() -> None:
    given = [
        MessageCreate(role="system", content="be kind"),
        MessageCreate(role="user", content="hi", name="Ann", otid="o-1"),
        MessageCreate(role="assistant", content="hallå"),
    ]
    system, user, asked, returned = initial_sequence(given, opening())
    assert json.loads(system.text())["type"] == "system_alert"
    assert system.otid == derived_otid(system.id, 0), "without one the row would be a prompt"
    assert (json.loads(user.text())["message"], json.loads(user.text())["name"], user.otid) == ("hi", "Ann", "o-1")
    assert asked.tool_calls is not None
    assert json.loads(asked.tool_calls[0].function.arguments) == {"message": "hallå"}
    assert "hallå" in asked.tool_calls[0].function.arguments
    assert asked.content == []
    assert unpack(returned.tool_returns[0].func_response or "") == "None"


def test_an_agent_that_speaks_by_its_text_has_its_given_words_as_text() -> None:
    given = [MessageCreate(role="assistant", content="hallå"), MessageCreate(role="user", content="hi")]
    spoken, user = initial_sequence(given, replace(opening(), speaks_by_tool=False))
    assert (spoken.role, spoken.text(), spoken.tool_calls) == ("assistant", "hallå", None)
    assert user.role == "user"


def test_the_calls_of_a_given_sequence_have_different_ids() -> None:
    rows = initial_sequence([MessageCreate(role="assistant", content=text) for text in ("a", "b")], opening())
    assert len({row.id for row in rows}) == 4
    assert len({call.id for row in rows for call in row.tool_calls or []}) == 2


def test_images_of_a_given_message_stay_beside_its_text() -> None:
    image = ImageContent(source=UrlImage(url="https://example.org/cat.png"))
    (row,) = initial_sequence([MessageCreate(role="user", content=[TextContent(text="look"), image])], opening())
    assert json.loads(row.text())["message"] == "look"
    assert row.content[1] == image
