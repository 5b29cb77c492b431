"""The servers that speak Chat Completions: each is sent only what it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hibernaut.adapters.model.dialects import (
    ANY,
    AZURE,
    DEEPSEEK,
    DIALECTS,
    GEMINI,
    GROQ,
    LM_STUDIO,
    MISTRAL,
    MOONSHOT,
    OPENAI,
    OPENROUTER,
    VLLM,
    XAI,
    ZAI,
    Dialect,
)
from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.domain.models.model_settings import reasoning_defaults
from hibernaut.ports.model import ModelRequest, ToolChoice
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.errors import ModelBadRequest
from hibernaut.schemas.models.llm_config import JsonObjectResponseFormat, JsonSchemaResponseFormat, LLMConfig
from tests.contracts.model.dialect_table import table
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.rows import MEMORY_INSERT, MEMORY_REPLACE, TEXT, Rows, called, gave, tool

EVERY = (*DIALECTS, ANY)
OWN_MEMBERS = {"model", "messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens", "response_format"}


def speaking(dialect: Dialect) -> OpenAIModel:
    return OpenAIModel(
        api_key="k", base_url="http://127.0.0.1:9/v1", windows=ContextWindows(), name=dialect.name, dialect=dialect
    )


def asked(*messages: Any, model: str = "m", config: dict[str, Any] | None = None, **fields: Any) -> ModelRequest:
    made = LLMConfig(model=model, model_endpoint_type="openai", context_window=9, **(config or {}))
    return ModelRequest(config=made, system="s", messages=messages or (Rows().user("hi"),), **fields)


def sent(dialect: Dialect, *messages: Any, **fields: Any) -> dict[str, Any]:
    return speaking(dialect).payload(asked(*messages, **fields))


def test_the_page_of_models_has_the_table_of_the_dialects() -> None:
    page = Path(__file__).parents[3] / "docs" / "models.md"
    assert table() in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("dialect", "wanted", "taken"),
    [
        (VLLM, {"reasoning_effort": "xhigh"}, "high"),
        (VLLM, {"reasoning_effort": "none"}, "low"),
        (DEEPSEEK, {"effort": "max"}, "max"),
        (DEEPSEEK, {"reasoning_effort": "low"}, "high"),
        (OPENROUTER, {"effort": "max"}, "xhigh"),
        (OPENROUTER, {"reasoning_effort": "none"}, "none"),
        (OPENAI, {"effort": "max"}, "max"),
    ],
)
def test_an_effort_becomes_the_strongest_that_the_server_takes(dialect: Dialect, wanted: dict[str, Any], taken: str) -> None:
    """One that is weaker than all becomes the weakest; `effort` counts before `reasoning_effort`."""
    assert sent(dialect, model="gpt-5.6-sol" if dialect is OPENAI else "m", config=wanted)["reasoning_effort"] == taken


@pytest.mark.parametrize("dialect", EVERY, ids=lambda each: each.title)
def test_a_later_system_message_is_one_only_where_it_may_stand_anywhere(dialect: Dialect) -> None:
    rows = Rows()
    body = sent(dialect, rows.user("Hi."), rows.row("system", "The lights went out."))
    last = body["messages"][-1]
    as_system = {"role": "system", "content": "The lights went out."}
    as_user = {"role": "user", "content": "<system_alert>\nThe lights went out.\n</system_alert>"}
    assert last == (as_system if dialect in (OPENAI, AZURE) else as_user)


@pytest.mark.parametrize(
    ("dialect", "model", "taken"),
    [
        (XAI, "grok-3-mini", True),
        (XAI, "grok-4.3", True),
        (XAI, "grok-4.6-fast", True),
        (XAI, "grok-4.20-multi-agent-0309", True),
        (XAI, "grok-4", False),
        (XAI, "grok-4-1-fast-reasoning", False),
        (XAI, "grok-4.20-0309-reasoning", False),
        (XAI, "grok-build-0.1", False),
        (GROQ, "openai/gpt-oss-120b", True),
        (GROQ, "qwen/qwen3-32b", False),
        (GROQ, "llama-3.3-70b-versatile", False),
    ],
)
def test_an_effort_is_sent_only_to_models_that_take_one(dialect: Dialect, model: str, taken: bool) -> None:
    body = sent(dialect, model=model, config={"reasoning_effort": "low"})
    assert body.get("reasoning_effort") == ("low" if taken else None)


@pytest.mark.parametrize("dialect", EVERY, ids=lambda each: each.title)
def test_a_request_has_nothing_that_its_server_does_not_take(dialect: Dialect) -> None:
    config = {"temperature": 0.5, "frequency_penalty": 0.5, "max_tokens": 9, "reasoning_effort": "low"}
    strict = tool("strict", required=("a",), strict=True, a=TEXT)
    body = sent(
        dialect, config=config, tools=(strict,), choice=ToolChoice("required"), parallel_tool_calls=True, user="u", cache_key="c"
    )
    assert body.keys() - OWN_MEMBERS - {"reasoning_effort"} <= dialect.takes
    assert ("reasoning_effort" in body) is (dialect.effort == "any" and not dialect.effort_models)
    assert body.get("reasoning_effort") in (None, *dialect.efforts)
    assert body.get("prompt_cache_key") == ("c" if "prompt_cache_key" in dialect.takes else None)
    assert (dialect.limit_name in body) is True
    assert ("strict" in body["tools"][0]["function"]) is ("strict" in dialect.takes)
    assert ("tool_choice" in body) is ("required" in dialect.choices_of(thinks=True))


@pytest.mark.parametrize("dialect", [each for each in EVERY if each.switch], ids=lambda each: each.title)
def test_reasoning_that_can_be_switched_off_is_on_until_somebody_does(dialect: Dialect) -> None:
    config = LLMConfig(model="m", model_endpoint_type=dialect.kind, context_window=8_000)
    assert reasoning_defaults(config, AgentType.LETTA_V1).enable_reasoner
    off = config.model_copy(update={"enable_reasoner": False})
    assert not reasoning_defaults(off, AgentType.LETTA_V1).enable_reasoner


def test_a_model_that_takes_tools_by_responses_alone_is_refused_with_the_variable_that_helps() -> None:
    with pytest.raises(ModelBadRequest, match=r"set AZURE_WIRE=responses, or choose another model$"):
        sent(AZURE, model="gpt-6-astra", tools=(MEMORY_INSERT,))
    own = OpenAIModel(api_key="k", base_url="http://127.0.0.1:9/v1", windows=ContextWindows(), name="our-azure", dialect=AZURE)
    with pytest.raises(ModelBadRequest, match=r"^our-azure: .* set AZURE_WIRE=responses, or choose another model$"):
        own.payload(asked(model="gpt-6-astra", tools=(MEMORY_INSERT,)))
    proxy = OpenAIModel(api_key="k", base_url="http://127.0.0.1:9/v1", windows=ContextWindows(), name="proxy", dialect=OPENAI)
    with pytest.raises(ModelBadRequest, match=r"not called at this address: choose another model$"):
        proxy.payload(asked(model="gpt-6-astra", tools=(MEMORY_INSERT,)))


@pytest.mark.parametrize("kind", ["json_object", "json_schema"])
def test_groq_has_a_format_or_tools(kind: str) -> None:
    config = {
        "response_format": {"type": kind, **({"json_schema": {"name": "a", "schema": {}}} if kind == "json_schema" else {})}
    }
    with pytest.raises(ModelBadRequest, match=r"Groq takes no response_format together with tools; .* detach the tools"):
        sent(GROQ, tools=(MEMORY_INSERT,), config=config)
    assert sent(GROQ, config=config)["response_format"]["type"] == kind
    assert "response_format" not in sent(GROQ, tools=(MEMORY_INSERT,), config={"response_format": {"type": "text"}})


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("mistral-small-latest", "high", "high"),
        ("mistral-small-2603", "low", "none"),
        ("mistral-medium-3-5", "max", "high"),
        ("mistral-medium-2604", "high", "high"),
        ("mistral-large-2512", "high", None),
        ("magistral-medium-latest", "high", None),
        ("mistral-small-2506", "high", None),
        ("mistral-medium-2508", "high", None),
    ],
)
def test_mistral_has_two_efforts_for_some_models(model: str, effort: str, expected: str | None) -> None:
    """docs.mistral.ai/capabilities/reasoning/adjustable"""
    assert sent(MISTRAL, model=model, config={"effort": effort}).get("reasoning_effort") == expected


@pytest.mark.parametrize("dialect", EVERY, ids=lambda each: each.title)
@pytest.mark.parametrize("mode", ["auto", "none", "required", "named"])
def test_a_tool_choice_is_one_that_the_server_takes(dialect: Dialect, mode: Any) -> None:
    body = sent(dialect, tools=(MEMORY_INSERT, MEMORY_REPLACE), choice=ToolChoice(mode, "memory_insert"))
    choice = body.get("tool_choice", "auto")
    assert ("named" if isinstance(choice, dict) else choice) in dialect.choices_of(thinks=True)
    assert ("tools" in body) is (mode != "none" or "none" in dialect.choices)


def test_a_named_choice_is_a_required_one_where_the_server_knows_texts_alone() -> None:
    assert sent(LM_STUDIO, tools=(MEMORY_INSERT,), choice=ToolChoice("named", "memory_insert"))["tool_choice"] == "required"


def test_deepseek_is_forced_only_while_it_does_not_reason() -> None:
    named = {"tools": (MEMORY_INSERT,), "choice": ToolChoice("named", "memory_insert")}
    assert "tool_choice" not in sent(DEEPSEEK, **named)
    assert sent(DEEPSEEK, config={"enable_reasoner": False}, **named)["tool_choice"]["function"] == {"name": "memory_insert"}


@pytest.mark.parametrize(("choice", "mode"), [(ToolChoice("auto"), "auto"), (ToolChoice("required"), "required")])
def test_openai_is_told_which_tools_may_be_called_and_sent_all(choice: ToolChoice, mode: str) -> None:
    body = sent(OPENAI, tools=(MEMORY_INSERT, MEMORY_REPLACE), choice=choice, allowed=("memory_replace",))
    assert [each["function"]["name"] for each in body["tools"]] == ["memory_insert", "memory_replace"]
    function = {"type": "function", "function": {"name": "memory_replace"}}
    assert body["tool_choice"] == {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [function]}}
    others = sent(GROQ, tools=(MEMORY_INSERT, MEMORY_REPLACE), choice=choice, allowed=("memory_replace",))
    assert others.get("tool_choice", "auto") == mode
    assert sent(OPENAI, tools=(MEMORY_INSERT,), allowed=())["tool_choice"] == "none"


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each.most_tools], ids=lambda each: each.name)
def test_more_tools_than_a_provider_takes_are_refused_with_the_limit(dialect: Dialect) -> None:
    tools = [tool(f"t{number}") for number in range((dialect.most_tools or 0) + 1)]
    assert len(sent(dialect, tools=tools[:-1])["tools"]) == dialect.most_tools
    with pytest.raises(ModelBadRequest, match=rf"^{dialect.name}: the agent has 129 tools, .* takes at most 128 "):
        sent(dialect, tools=tools)


@pytest.mark.parametrize("dialect", EVERY, ids=lambda each: each.title)
@pytest.mark.parametrize(
    "wanted", [JsonObjectResponseFormat(), JsonSchemaResponseFormat(json_schema={"name": "n", "schema": {}})]
)
def test_a_format_is_sent_or_refused_by_name(dialect: Dialect, wanted: Any) -> None:
    if wanted.type in dialect.takes:
        assert sent(dialect, config={"response_format": wanted})["response_format"]["type"] == wanted.type
    else:
        with pytest.raises(ModelBadRequest, match=rf"takes no response_format '{wanted.type}'"):
            sent(dialect, config={"response_format": wanted})


@pytest.mark.parametrize(
    ("dialect", "member"),
    [
        (DEEPSEEK, {"thinking": {"type": "disabled"}}),
        (ZAI, {"thinking": {"type": "disabled"}}),
        (OPENROUTER, {"reasoning": {"enabled": False}}),
    ],
)
def test_reasoning_is_switched_off_by_the_servers_own_member(dialect: Dialect, member: dict[str, Any]) -> None:
    assert member.items() <= sent(dialect, config={"enable_reasoner": False}).items()
    assert not member.keys() & sent(dialect).keys()


def steps() -> list[Any]:
    rows = Rows()
    return [
        rows.user("hi"),
        rows.assistant("", called("call_1:a", "memory_insert", label="human")),
        rows.tool(gave("call_1:a")),
        rows.user("and now?"),
    ]


def test_mistral_gets_ids_of_nine_characters_and_no_user_after_a_tool() -> None:
    messages = sent(MISTRAL, *steps())["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    call_id = messages[2]["tool_calls"][0]["id"]
    assert call_id == messages[3]["tool_call_id"]
    assert len(call_id) == 9
    assert call_id.isalnum()


@pytest.mark.parametrize("dialect", [DEEPSEEK, MOONSHOT])
def test_calls_of_another_model_get_the_reasoning_that_the_server_misses(dialect: Dialect) -> None:
    messages = sent(dialect, *steps())["messages"]
    assert messages[2]["reasoning_content"].strip()
    assert "reasoning_content" not in sent(GROQ, *steps())["messages"][2]


def test_calls_of_another_model_get_geminis_own_words_for_no_signature() -> None:
    [call] = sent(GEMINI, *steps())["messages"][2]["tool_calls"]
    assert call["extra_content"] == {"google": {"thought_signature": "skip_thought_signature_validator"}}


def test_a_server_that_takes_no_stream_options_is_not_sent_them() -> None:
    with ScriptedOpenAI() as server:
        for dialect in (MISTRAL, VLLM):
            model = OpenAIModel(api_key="k", base_url=server.url, windows=ContextWindows(), name=dialect.name, dialect=dialect)
            model.complete(asked(), lambda _: None)
        assert ["stream_options" in each.body for each in server.requests] == [False, True]


def test_names_with_instruct_are_chat_models_on_every_server_but_openais_own() -> None:
    listed = [
        "meta-llama/Llama-3.3-70B-Instruct",
        "moonshotai/Kimi-K2-Instruct",
        "qwen-image-chat",
        "text-embedding-3-small",
        "whisper-1",
    ]
    rows = [{"id": name} for name in listed] + [{"id": "flux", "type": "image"}, {"id": "typed", "type": "chat"}]
    with ScriptedOpenAI(models=rows) as server:
        found = OpenAIModel(api_key=None, base_url=server.url, windows=ContextWindows()).models()
        assert {row.model for row in found} == {*listed[:3], "typed"}
        official = OpenAIModel(api_key=None, base_url=server.url, windows=ContextWindows(), dialect=OPENAI)
        server.models = [{"id": name} for name in ("gpt-3.5-turbo-instruct", "gpt-5.4", "babbage-002", "gpt-audio-mini")]
        assert [row.model for row in official.models()] == ["gpt-5.4"]


def test_a_list_that_is_a_bare_array_is_read() -> None:
    with ScriptedOpenAI() as server:
        server.listing_says = {"raw": b'[{"id": "Qwen/Qwen3-235B", "type": "chat", "context_length": 262144}]'}
        [row] = OpenAIModel(api_key=None, base_url=server.url, windows=ContextWindows(), name="together").models()
        assert (row.handle, row.context_window) == ("together/Qwen/Qwen3-235B", 262144)


def test_geminis_list_names_models_as_requests_do() -> None:
    with ScriptedOpenAI(models=[{"id": "models/gemini-3.6-flash"}]) as server:
        model = OpenAIModel(api_key=None, base_url=server.url, windows=ContextWindows(), name="google_ai", dialect=GEMINI)
        assert [row.handle for row in model.models()] == ["google_ai/gemini-3.6-flash"]
