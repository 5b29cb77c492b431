"""What Chat Completions ask for beyond the port's promises, and what compatible servers do differently."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.ports.model import Delta, ModelRequest, ToolChoice
from hibernaut.schemas.content import Base64Image, ImageContent, LettaImage, ReasoningContent, TextContent, UrlImage
from hibernaut.schemas.errors import ModelBadRequest, ModelOverloaded
from hibernaut.schemas.models.llm_config import JsonObjectResponseFormat, TextResponseFormat
from tests.contracts.model.spoken import Spoken
from tests.support.rows import MEMORY_INSERT, TEXT, Rows, called, gave, tool


def payload(openai: Spoken, *, model: str = "gpt-4o", **fields: Any) -> dict[str, Any]:
    config = fields.pop("config", {})
    return openai.model.payload(openai.request(Rows().user("hi"), model=model, config=config, **fields))


def test_the_request_in_full(openai: Spoken) -> None:
    rows = Rows()
    log = [rows.user("hi"), rows.assistant("", called("c", "memory_insert", label="human")), rows.tool(gave("c"))]
    log += [rows.row("system", "Careful."), rows.row("summary", "Before: nothing.")]
    request = openai.request(*log, system="Be kind.", tools=(MEMORY_INSERT,), parallel_tool_calls=True, user="user-1")
    assert openai.model.payload(request) == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "memory_insert", "arguments": '{"label": "human"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": gave("c").func_response},
            {"role": "user", "content": "<system_alert>\nCareful.\n</system_alert>"},
            {"role": "user", "content": "Before: nothing."},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "memory_insert",
                    "description": "memory_insert does its work.",
                    "parameters": MEMORY_INSERT.parameters,
                },
            }
        ],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "user": "user-1",
    }


def test_without_tools_nothing_is_said_of_tools(openai: Spoken) -> None:
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & payload(openai, choice=ToolChoice("required")).keys()


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (ToolChoice("auto"), None),
        (ToolChoice("required"), "required"),
        (ToolChoice("none"), "none"),
        (ToolChoice("named", "memory_insert"), {"type": "function", "function": {"name": "memory_insert"}}),
    ],
)
def test_the_choice_of_tools(openai: Spoken, choice: ToolChoice, sent: Any) -> None:
    assert payload(openai, tools=(MEMORY_INSERT,), choice=choice).get("tool_choice") == sent


@pytest.mark.parametrize("model", ["o3", "gpt-5-mini"])
def test_a_reasoning_model_has_an_effort_and_a_developer_but_no_temperature(openai: Spoken, model: str) -> None:
    sent = payload(openai, model=model, config={"reasoning_effort": "low", "verbosity": "medium", "max_tokens": 9})
    assert (sent["reasoning_effort"], sent["max_completion_tokens"]) == ("low", 9)
    assert sent.get("verbosity") == (None if model == "o3" else "medium")  # GPT-5 brought it
    assert sent["messages"][0]["role"] == "developer"
    assert "temperature" not in sent


@pytest.mark.parametrize(
    ("model", "wanted", "with_tools", "without"),
    [
        ("gpt-5.2", "low", "low", "low"),
        ("gpt-5.4", "high", "none", "high"),  # itzcrazykns/vane#1173
        ("gpt-5.5", None, "none", None),  # litellm#34569
        ("gpt-5.6-sol", "xhigh", "none", "xhigh"),
        ("gpt-5.6-sol", "minimal", "none", "none"),
        ("gpt-6-sol", "low", "none", "low"),  # onyx-dot-app/onyx#15008
        ("gpt-5", "minimal", "minimal", "minimal"),
        ("o3", "minimal", "low", "low"),
    ],
)
def test_tools_are_asked_for_with_the_effort_that_chat_completions_take(
    openai: Spoken, model: str, wanted: Any, with_tools: Any, without: Any
) -> None:
    config = {"reasoning_effort": wanted}
    assert payload(openai, model=model, config=config, tools=(MEMORY_INSERT,)).get("reasoning_effort") == with_tools
    assert payload(openai, model=model, config=config).get("reasoning_effort") == without


def test_a_model_that_takes_tools_by_responses_alone_is_refused_before_anything_is_sent(openai: Spoken) -> None:
    asked = openai.request(Rows().user("hi"), model="gpt-6-astra", tools=(MEMORY_INSERT,))  # bolna-ai/bolna#1019
    with pytest.raises(ModelBadRequest, match=r"openai: gpt-6-astra takes tools only .* OPENAI_WIRE=responses"):
        openai.model.complete(asked)
    assert openai.server.requests == []
    assert payload(openai, model="gpt-6-astra", config={"reasoning_effort": "none"})["reasoning_effort"] == "low"


def test_the_o_series_is_not_told_about_parallel_calls(openai: Spoken) -> None:
    assert "parallel_tool_calls" not in payload(openai, model="o3-mini", tools=(MEMORY_INSERT,))


def test_a_model_without_reasoning_is_asked_for_none(openai: Spoken) -> None:
    sent = payload(openai, config={"reasoning_effort": "low", "verbosity": "low", "temperature": 0.3, "frequency_penalty": 0.5})
    assert not {"reasoning_effort", "verbosity"} & sent.keys()
    assert (sent["temperature"], sent["frequency_penalty"], sent["messages"][0]["role"]) == (0.3, 0.5, "system")


def test_the_output_limit_has_the_name_that_the_server_knows(openai: Spoken) -> None:
    assert payload(openai, config={"max_tokens": 9})["max_tokens"] == 9
    official = OpenAIModel(api_key="k", windows=ContextWindows())
    sent = official.payload(openai.request(Rows().user("hi"), model="gpt-4o", config={"max_tokens": 9}))
    assert (sent["max_completion_tokens"], "max_tokens" in sent) == (9, False)


def test_a_format_is_asked_for_unless_it_is_plain_text(openai: Spoken) -> None:
    assert payload(openai, config={"response_format": JsonObjectResponseFormat()})["response_format"] == {"type": "json_object"}
    assert "response_format" not in payload(openai, config={"response_format": TextResponseFormat()})


def test_images_are_sent_as_addresses_or_data(openai: Spoken) -> None:
    sources = [
        UrlImage(url="https://example.org/a.png"),
        Base64Image(media_type="image/png", data="AAAA", detail="low"),
        LettaImage(file_id="file-1"),
    ]
    row = Rows().user([TextContent(text="Look"), *(ImageContent(source=source) for source in sources)])
    [_, message] = openai.model.payload(openai.request(row))["messages"]
    assert message["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
        {"type": "text", "text": "[image file-1 is not available]"},
    ]


def test_reasoning_is_not_sent_back_but_a_thought_of_its_arguments_is(openai: Spoken) -> None:
    rows = Rows()
    native = rows.assistant([ReasoningContent(reasoning="hidden"), TextContent(text="said")])
    thought = rows.assistant([ReasoningContent(reasoning="thought", is_native=False)], called("c", "memory_insert"))
    sent = openai.model.payload(openai.request(rows.user("hi"), native, thought, rows.tool(gave("c"))))["messages"]
    assert [message["content"] for message in sent[2:4]] == ["said", "thought"]


@pytest.mark.parametrize("optional", [False, True])
def test_a_tool_is_strict_only_where_its_schema_can_be(openai: Spoken, optional: bool) -> None:
    nested = {"type": "object", "properties": {"x": TEXT}, "required": ["x"]}
    required = ("a",) if optional else ("a", "b")
    offered = tool("t", required=required, strict=True, a={"type": "array", "items": nested}, b=TEXT)
    function = payload(openai, tools=(offered,))["tools"][0]["function"]
    assert ("strict" in function) is not optional
    if optional:
        assert function["parameters"] == offered.parameters
    else:
        assert function["parameters"]["additionalProperties"] is False
        assert function["parameters"]["properties"]["a"]["items"]["additionalProperties"] is False


def test_cached_and_reasoning_tokens_are_counted(openai: Spoken) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": {"reasoning_tokens": 3}}
    openai.server.says(content="x", usage={"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14} | details)
    usage = openai.model.complete(openai.request(Rows().user("hi"))).usage
    assert (usage.cached_input_tokens, usage.reasoning_tokens, usage.total_tokens) == (8, 3, 14)
    openai.server.says(content="x", usage={"prompt_tokens": "many", "completion_tokens": -4, "prompt_cache_hit_tokens": 2})
    usage = openai.model.complete(openai.request(Rows().user("hi")), lambda _: None).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_input_tokens) == (0, 0, 2)


def test_a_stream_is_asked_to_report_its_usage(openai: Spoken) -> None:
    openai.model.complete(openai.request(Rows().user("hi")), lambda _: None)
    assert (openai.sent()["stream"], openai.sent()["stream_options"]) == (True, {"include_usage": True})


def answered(openai: Spoken, message: dict[str, Any], finish: Any = "stop") -> Any:
    body = {"choices": [{"message": message, "finish_reason": finish}]}
    openai.server.says(raw=json.dumps(body).encode())
    return openai.model.complete(openai.request(Rows().user("hi"), tools=(MEMORY_INSERT,)))


def test_what_compatible_servers_do_differently_is_understood(openai: Spoken) -> None:
    call = {"function": {"name": "t", "arguments": {"a": 1}}}
    reply = answered(
        openai, {"content": [{"type": "text", "text": "par"}, {"text": "ts"}], "tool_calls": [call, call], "reasoning": "hm"}
    )
    assert reply.text == "parts"
    assert [part.reasoning for part in reply.reasoning] == ["hm"]
    assert [call.arguments for call in reply.tool_calls] == ['{"a": 1}', '{"a": 1}']
    assert len({call.id for call in reply.tool_calls}) == 2
    assert answered(openai, {"refusal": "I will not."}).finish_reason == "refusal"
    assert answered(openai, {"content": "no reason given"}, None).finish_reason == "stop"


def streamed(openai: Spoken, *chunks: dict[str, Any]) -> Any:
    openai.server.says(raw=b"".join(f"data:{json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks))
    deltas: list[Delta] = []
    return openai.model.complete(openai.request(Rows().user("hi"), tools=(MEMORY_INSERT,)), deltas.append), deltas


def test_calls_that_are_all_numbered_zero_stay_apart(openai: Spoken) -> None:
    calls = [{"index": 0, "id": f"c{n}", "function": {"name": "t", "arguments": f'{{"n": {n}}}'}} for n in (1, 2)]
    chunks = [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls]
    reply, deltas = streamed(openai, *chunks, {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    assert [(call.id, call.arguments) for call in reply.tool_calls] == [("c1", '{"n": 1}'), ("c2", '{"n": 2}')]
    assert [delta.index for delta in deltas if delta.kind == "tool_name"] == [0, 1]


def test_an_error_inside_a_stream_is_that_error(openai: Spoken) -> None:
    with pytest.raises(ModelOverloaded):
        streamed(openai, {"choices": [{"delta": {"content": "So"}}]}, {"error": {"type": "server_error", "message": "Oops"}})


def test_a_server_that_does_not_stream_is_read_as_a_whole(openai: Spoken) -> None:
    body = openai.server.whole({"content": "All at once."})  # type: ignore[attr-defined]
    openai.server.says(status=200, body=body)
    assert openai.model.complete(openai.request(Rows().user("hi")), lambda _: None).text == "All at once."


def test_the_list_names_the_chat_models_with_the_limits_that_are_known(openai: Spoken) -> None:
    openai.server.models = [
        {"id": "gpt-4o-mini-2024-07-18"},
        {"id": "meta-llama/Llama-3.1-8B", "max_model_len": 4096},
        {"id": "mystery"},
        {"id": "whisper-1"},
        {"id": "text-embedding-3-small"},
    ]
    listed = {row.handle: row for row in openai.model.models()}
    assert list(listed) == ["openai/gpt-4o-mini-2024-07-18", "openai/meta-llama/Llama-3.1-8B", "openai/mystery"]
    assert [(row.context_window, row.max_tokens) for row in listed.values()] == [(128_000, 16384), (4096, None), (32_000, None)]
    [embedding] = openai.model.embedding_models()
    assert (embedding.handle, embedding.embedding_dim) == ("openai/text-embedding-3-small", 1536)


def test_three_thousand_messages_are_sent_as_they_stand(openai: Spoken) -> None:
    rows = Rows()
    log = [rows.user(f"message {n}") for n in range(3000)]
    openai.model.complete(ModelRequest(config=openai.request().config, system="s", messages=log))
    assert [message["content"] for message in openai.sent()["messages"][1:]] == [f"message {n}" for n in range(3000)]
