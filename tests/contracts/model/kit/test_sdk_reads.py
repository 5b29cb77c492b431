"""The kit's servers speak as the providers do: the providers' own SDKs (as locked), told to validate strictly, send a request to
them and read the answer, whole and streamed. A server whose replies the SDK refuses would prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from tests.contracts.model.kit import anthropic_messages, compatible, openai_chat, openai_responses
from tests.contracts.model.kit.bad_requests import taken
from tests.contracts.model.kit.bad_responses import taken_by_responses
from tests.contracts.model.kit.plays import Think, ToolUse, reply
from tests.contracts.model.kit.server import KitServer, Provider

PLAY = reply(Think("It is time."), "I ring.", ToolUse("ring", {"x": "bell"}))
CHAT = (openai_chat.OPENAI, compatible.VLLM, compatible.DEEPSEEK, compatible.MISTRAL, compatible.XAI)
"""OpenAI's own, and compatible ones, whose further members the SDK's types allow."""


@pytest.fixture
def server(provider: Provider) -> Iterator[KitServer]:
    with provider.server(provider) as made:
        case = taken_by_responses(provider) if provider in openai_responses.PROVIDERS else taken(provider)
        made.memory = case.memory
        made.case = case  # type: ignore[attr-defined]
        made.plays(PLAY, PLAY)
        yield made


def body_of(server: KitServer) -> dict[str, Any]:
    body: dict[str, Any] = server.case.body  # type: ignore[attr-defined]
    return body


def openai_client(server: KitServer) -> openai.OpenAI:
    return openai.OpenAI(api_key="sk-kit", base_url=server.url, max_retries=0, _strict_response_validation=True)


@pytest.mark.parametrize("provider", CHAT, ids=lambda each: each.name)
def test_chat_completions(server: KitServer) -> None:
    client, body = openai_client(server), body_of(server)
    whole = client.chat.completions.create(**body).choices[0].message
    chunks = list(client.chat.completions.create(**body, stream=True))
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert whole.content is not None
    assert whole.content.endswith("I ring.")
    assert text == whole.content
    assert whole.tool_calls is not None
    assert [call.function.name for call in whole.tool_calls if call.type == "function"] == ["ring"]
    calls = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or ()]
    assert "".join(call.function.name or "" for call in calls if call.function) == "ring"
    assert server.broken == []


@pytest.mark.parametrize("provider", openai_responses.PROVIDERS, ids=lambda each: each.name)
def test_responses(server: KitServer) -> None:
    client, body = openai_client(server), body_of(server)
    whole = client.responses.create(**body)
    events = list(client.responses.create(**body, stream=True))
    assert whole.output_text == "I ring."
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "I ring."
    assert [item.name for item in whole.output if item.type == "function_call"] == ["ring"]
    assert events[-1].type == "response.completed"
    assert server.broken == []


@pytest.mark.parametrize("provider", anthropic_messages.PROVIDERS, ids=lambda each: each.name)
def test_messages(server: KitServer) -> None:
    client = anthropic.Anthropic(api_key="sk-kit", base_url=server.address, max_retries=0, _strict_response_validation=True)
    body, headers = body_of(server), dict(server.case.asked.headers)  # type: ignore[attr-defined]
    whole = client.messages.create(**body, extra_headers=headers)
    with client.messages.stream(**body, extra_headers=headers) as stream:
        streamed = stream.get_final_message()
    for message in (whole, streamed):
        assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
        assert [block.text for block in message.content if block.type == "text"] == ["I ring."]
        assert [block.input for block in message.content if block.type == "tool_use"] == [{"x": "bell"}]
    assert server.broken == []
