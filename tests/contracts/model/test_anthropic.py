"""What the Messages API asks for beyond the port's promises."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hibernaut.ports.model import ToolChoice
from hibernaut.schemas.content import (
    Base64Image,
    ImageContent,
    ReasoningContent,
    RedactedReasoningContent,
    TextContent,
    UrlImage,
)
from hibernaut.schemas.errors import ModelOverloaded
from tests.contracts.model.spoken import Spoken
from tests.support.rows import MEMORY_INSERT, SEARCH, Rows, called, gave

MARK = {"type": "ephemeral"}


def payload(anthropic: Spoken, *messages: Any, **fields: Any) -> dict[str, Any]:
    return anthropic.model.payload(anthropic.request(*(messages or [Rows().user("hi")]), **fields))


def test_the_request_in_full(anthropic: Spoken) -> None:
    rows = Rows()
    log = [rows.user("hi"), rows.assistant("Noting. \n", called("c", "memory_insert", label="human"))]
    log += [rows.tool(gave("c", "no", "error")), rows.row("system", "Careful.")]
    sent = payload(anthropic, *log, system="Be kind.", tools=(SEARCH, MEMORY_INSERT), user="user-1", parallel_tool_calls=True)
    assert sent == {
        "model": "test-model",
        "max_tokens": 4096,
        "cache_control": MARK,
        "system": [{"type": "text", "text": "Be kind.", "cache_control": MARK}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Noting."},
                    {"type": "tool_use", "id": "c", "name": "memory_insert", "input": {"label": "human"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c",
                        "content": gave("c", "no", "error").func_response,
                        "is_error": True,
                    }
                ],
            },
            {"role": "user", "content": [{"type": "text", "text": "<system_alert>\nCareful.\n</system_alert>"}]},
        ],
        "tools": [
            {
                "name": "conversation_search",
                "description": "conversation_search does its work.",
                "input_schema": SEARCH.parameters,
            },
            {
                "name": "memory_insert",
                "description": "memory_insert does its work.",
                "input_schema": MEMORY_INSERT.parameters,
                "cache_control": MARK,
            },
        ],
        "tool_choice": {"type": "auto"},
        "metadata": {"user_id": "user-1"},
    }


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (ToolChoice("auto"), {"type": "auto", "disable_parallel_tool_use": True}),
        (ToolChoice("required"), {"type": "any", "disable_parallel_tool_use": True}),
        (ToolChoice("named", "t"), {"type": "tool", "name": "t", "disable_parallel_tool_use": True}),
        (ToolChoice("none"), {"type": "none"}),
    ],
)
def test_the_choice_of_tools(anthropic: Spoken, choice: ToolChoice, sent: Any) -> None:
    assert payload(anthropic, tools=(SEARCH,), choice=choice)["tool_choice"] == sent


def test_the_first_message_is_always_a_users(anthropic: Spoken) -> None:
    assert [message["role"] for message in payload(anthropic, Rows().assistant("I begin."))["messages"]] == ["user", "assistant"]
    assert [message["role"] for message in anthropic.model.payload(anthropic.request())["messages"]] == ["user"]


def test_no_choice_is_left_where_no_tool_may_be_called(anthropic: Spoken) -> None:
    sent = payload(anthropic, tools=(SEARCH,), choice=ToolChoice("required"), allowed=())
    assert (sent["tool_choice"], [tool["name"] for tool in sent["tools"]]) == ({"type": "none"}, ["conversation_search"])
    assert payload(anthropic, tools=(SEARCH,), allowed=("conversation_search",))["tool_choice"]["type"] == "auto"


def test_an_empty_text_is_not_sent(anthropic: Spoken) -> None:
    rows = Rows()
    log = [rows.user("  "), rows.assistant("  ", called("c", "t")), rows.tool(gave("c")), rows.assistant("\n")]
    sent = payload(anthropic, *log)["messages"]
    assert sent[0]["content"] == [{"type": "text", "text": "(empty)"}]
    assert [block["type"] for message in sent[1:] for block in message["content"]] == ["tool_use", "tool_result"]


def test_a_return_may_hold_images(anthropic: Spoken) -> None:
    rows = Rows()
    picture = ImageContent(source=UrlImage(url="https://example.com/a.png"))
    given = gave("c", "lit").model_copy(update={"images": [picture]})
    sent = payload(anthropic, rows.user("hi"), rows.assistant("", called("c", "t")), rows.tool(given))["messages"]
    assert sent[-1]["content"][0]["content"] == [
        {"type": "text", "text": given.func_response},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
    ]


def test_images_of_a_failed_call_stand_behind_all_results(anthropic: Spoken) -> None:
    """ "all content must be type `text` if `is_error` is true" (vellum-ai/vellum-assistant#18387)."""
    rows = Rows()
    picture = ImageContent(source=UrlImage(url="https://example.com/a.png"))
    failed = gave("c", "dark", "error").model_copy(update={"images": [picture]})
    silent = failed.model_copy(update={"tool_call_id": "d", "func_response": ""})
    log = [rows.user("hi"), rows.assistant("", called("c", "t"), called("d", "t")), rows.tool(failed, silent)]
    shown = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    assert payload(anthropic, *log)["messages"][-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "c", "content": failed.func_response, "is_error": True},
        {"type": "tool_result", "tool_use_id": "d", "content": "(empty)", "is_error": True},
        shown,
        shown,
    ]


@pytest.mark.parametrize("user", ["agent-1", "a" * 256])
def test_a_users_name_is_sent_as_it_is(anthropic: Spoken, user: str) -> None:
    assert payload(anthropic, user=user)["metadata"] == {"user_id": user}


@pytest.mark.parametrize("user", ["a" * 257, "ann@example.com", "+47 22 22 22 22"])
def test_a_users_name_that_is_refused_or_tells_who_it_is_is_sent_as_a_digest(anthropic: Spoken, user: str) -> None:
    """At most 256 characters, no mail address or telephone number (`MetadataParam`; vercel/ai#12419; BerriAI/litellm#10102)."""
    assert re.fullmatch("[0-9a-f]{64}", payload(anthropic, user=user)["metadata"]["user_id"])


def test_arguments_that_were_no_json_object_are_sent_as_an_empty_one(anthropic: Spoken) -> None:
    rows = Rows()
    broken = called("c", "t")
    broken.function.arguments = '{"label": '
    sent = payload(anthropic, rows.user("hi"), rows.assistant("", broken), rows.tool(gave("c")))
    assert sent["messages"][1]["content"][0]["input"] == {}


def test_images_are_sent_as_sources(anthropic: Spoken) -> None:
    sources = [UrlImage(url="https://example.org/a.png"), Base64Image(media_type="image/png", data="AAAA")]
    row = Rows().user([TextContent(text="Look"), *(ImageContent(source=source) for source in sources)])
    assert payload(anthropic, row)["messages"][0]["content"][1:] == [
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    ]


def test_seals_come_back_whole_from_both_ways_of_asking(anthropic: Spoken) -> None:
    anthropic.server.says(reasoning="deep", signature="sealed-with-many-letters", redacted="cipher", content="said")
    request = anthropic.request(Rows().user("hi"))
    expected = (ReasoningContent(reasoning="deep", signature="sealed-with-many-letters"), RedactedReasoningContent(data="cipher"))
    assert anthropic.model.complete(request).reasoning == expected
    assert anthropic.model.complete(request, lambda _: None).reasoning == expected


def test_tokens_of_the_cache_are_part_of_the_prompt(anthropic: Spoken) -> None:
    cache = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens_details": {"thinking_tokens": 3}}
    anthropic.server.says(content="x", usage={"input_tokens": 5, "output_tokens": 7} | cache)
    request = anthropic.request(Rows().user("hi"))
    usage = anthropic.model.complete(request).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (125, 7, 132)
    assert (usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (100, 20, 3)
    assert anthropic.model.complete(request, lambda _: None).usage.prompt_tokens == 125


def test_a_server_that_tells_only_how_long_it_keeps_what_it_wrote_is_understood(anthropic: Spoken) -> None:
    """`CacheCreation` (anthropic 2.12.0) divides the written tokens by their time to live."""
    written = {"cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 40}}
    anthropic.server.says(content="x", usage={"input_tokens": 5, "output_tokens": 7} | written)
    usage = anthropic.model.complete(anthropic.request(Rows().user("hi"))).usage
    assert (usage.prompt_tokens, usage.cache_write_tokens, usage.hour_cache_write_tokens) == (48, 43, 40)


def test_an_error_inside_a_stream_is_that_error(anthropic: Spoken) -> None:
    raw = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'
    anthropic.server.says(raw=raw)
    with pytest.raises(ModelOverloaded):
        anthropic.model.complete(anthropic.request(Rows().user("hi")), lambda _: None)


def test_the_list_believes_the_limits_that_the_provider_reports(anthropic: Spoken) -> None:
    anthropic.server.models = [
        {"id": "claude-a", "max_input_tokens": 90_000, "max_tokens": 5000, "display_name": "Claude A"},
        {"id": "claude-3-5-haiku-20241022"},
        {"id": "claude-sonnet-4-6", "max_input_tokens": 1_000_000, "max_tokens": 128_000},
    ]
    rows = {row.handle: row for row in anthropic.model.models()}
    assert [(row.context_window, row.max_context_window, row.max_tokens) for row in rows.values()] == [
        (200_000, 200_000, 8192),
        (90_000, 90_000, 5000),
        (1_000_000, 1_000_000, 21_000),
    ]
    assert rows["anthropic/claude-a"].display_name == "Claude A"
    assert "limit=1000" in anthropic.server.listings[0].path
