"""The servers that speak Chat Completions: each is configured by its own variables and sent only what it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hibernaut.adapters.model.catalogue import Catalogue
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
    OLLAMA,
    OPENAI,
    OPENROUTER,
    SGLANG,
    VLLM,
    XAI,
    ZAI,
    Dialect,
    dialect_at,
)
from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.domain.models.model_settings import reasoning_defaults
from hibernaut.ports.model import ModelRequest, ToolChoice
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.errors import ModelBadRequest, NotFound
from hibernaut.schemas.models.llm_config import JsonObjectResponseFormat, JsonSchemaResponseFormat, LLMConfig
from hibernaut.wiring.configuration.provider_variables import PROVIDER_NAMES
from tests.contracts.model.dialect_table import table
from tests.contracts.model.spoken import Spoken
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


def test_names_and_variables_are_unambiguous() -> None:
    names = [name for dialect in DIALECTS for name in (dialect.name, *dialect.aliases)]
    variables = [name for dialect in DIALECTS for name in (dialect.key, dialect.address)]
    assert len(set(names)) == len(names)
    assert len(set(variables)) == len(variables)
    assert set(variables) <= set(PROVIDER_NAMES)


def test_providers_live_side_by_side_each_with_its_own_key_and_address() -> None:
    with ScriptedOpenAI(models=[{"id": "one"}]) as first, ScriptedOpenAI(models=[{"id": "two"}]) as second:
        variables = {
            "OPENAI_API_KEY": "sk-first",
            "OPENAI_BASE_URL": first.url,
            "GROQ_API_KEY": "sk-second",
            "GROQ_BASE_URL": second.url,
        }
        catalogue = Catalogue(EnvironmentSecrets(variables))
        assert [row.handle for row in catalogue.list()] == ["openai/one", "hibernaut/demo", "groq/two"]
        for handle in ("openai/one", "groq/two"):
            config = catalogue.config(handle)
            catalogue.of(config).complete(
                Spoken("openai", catalogue.of(config), first).request(Rows().user("hi"), model=config.model)
            )
        assert [each.headers["authorization"] for each in first.requests + first.listings] == ["Bearer sk-first"] * 3
        assert [each.headers["authorization"] for each in second.requests + second.listings] == ["Bearer sk-second"] * 2


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each is not GEMINI], ids=lambda each: each.name)
def test_a_provider_is_there_by_its_own_variables_and_its_rows_say_what_v1_says(dialect: Dialect) -> None:
    with ScriptedOpenAI(models=[{"id": "some/model"}]) as server:
        catalogue = Catalogue(EnvironmentSecrets({dialect.key: "sk-own", dialect.address: server.url}))
        config = catalogue.config(f"{dialect.name}/some/model")
        assert (config.model, config.provider_name, config.model_endpoint_type) == ("some/model", dialect.name, dialect.kind)
        assert config.model_endpoint == server.url
        rows = [row for row in catalogue.list() if row.provider_name == dialect.name]
        assert {row.provider_type for row in rows} <= {dialect.name}


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each.url], ids=lambda each: each.name)
def test_a_key_alone_configures_a_provider_that_has_an_address(dialect: Dialect) -> None:
    assert Catalogue(EnvironmentSecrets({dialect.key: "sk-own"})).providers()[dialect.name] == dialect.url
    assert dialect_at(dialect.url or "") is dialect


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if not each.url], ids=lambda each: each.name)
def test_a_key_without_an_address_configures_no_server_of_ones_own(dialect: Dialect) -> None:
    assert list(Catalogue(EnvironmentSecrets({dialect.key: "sk-own"})).providers()) == ["hibernaut"]


@pytest.mark.parametrize(
    ("dialect", "address", "url"),
    [
        (OLLAMA, "http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        (OLLAMA, "http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"),
        (VLLM, "http://gpu:8000/inference", "http://gpu:8000/inference"),
        (AZURE, "https://me.openai.azure.com/", "https://me.openai.azure.com/openai/v1"),
        (GEMINI, "https://generativelanguage.googleapis.com/", GEMINI.url),
        (GEMINI, "http://proxy/v1beta/openai/", "http://proxy/v1beta/openai"),
    ],
)
def test_an_address_without_a_path_is_completed(dialect: Dialect, address: str, url: str) -> None:
    assert dialect.at(address) == url


@pytest.mark.parametrize("dialect", [VLLM, SGLANG, OPENROUTER], ids=lambda each: each.name)
def test_v1s_variable_for_the_first_part_of_handles_is_read(dialect: Dialect) -> None:
    with ScriptedOpenAI(models=[{"id": "some/model"}]) as server:
        variables = {dialect.address: server.url, dialect.key: "k", dialect.handle_base: "mine/", "GROQ_API_KEY": "k"}
        catalogue = Catalogue(EnvironmentSecrets(variables))
        assert catalogue.config("mine/some/model").handle == f"{dialect.name}/some/model"
        assert catalogue.config(f"{dialect.name}/some/model").handle == f"{dialect.name}/some/model"
        other = Catalogue(EnvironmentSecrets(variables | {dialect.handle_base: "groq"}))
        assert other.config("groq/llama").provider_name == "groq", "it takes no provider's own name"


def test_v1s_older_name_of_openais_address_counts_if_the_newer_one_is_not_set() -> None:
    older = {"OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://127.0.0.1:9/older"}
    assert Catalogue(EnvironmentSecrets(older)).providers()["openai"] == "http://127.0.0.1:9/older"
    both = older | {"OPENAI_BASE_URL": "http://127.0.0.1:9/newer"}
    assert Catalogue(EnvironmentSecrets(both)).providers()["openai"] == "http://127.0.0.1:9/newer"


def test_v1s_handle_of_a_proxy_is_found() -> None:
    with ScriptedOpenAI(models=[{"id": "m"}]) as server:
        catalogue = Catalogue(EnvironmentSecrets({"OPENAI_BASE_URL": server.url}))
        assert catalogue.config("openai-proxy/m").handle == "openai/m"


@pytest.mark.parametrize(
    ("handle", "hint"),
    [("groq/m", "; set GROQ_API_KEY"), ("ollama/m", "; set OLLAMA_BASE_URL"), ("anthropic/m", "; set ANTHROPIC_API_KEY")],
)
def test_a_provider_that_is_not_configured_is_named_with_its_variable(handle: str, hint: str) -> None:
    with pytest.raises(NotFound) as raised:
        Catalogue(EnvironmentSecrets({})).config(handle)
    assert raised.value.detail == f"NOT_FOUND: Handle {handle} not found, must be one of ['hibernaut/demo']{hint}"


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
    assert ("tool_choice" in body) is ("required" in dialect.choices)


@pytest.mark.parametrize("dialect", [each for each in EVERY if each.switch], ids=lambda each: each.title)
def test_reasoning_that_can_be_switched_off_is_on_until_somebody_does(dialect: Dialect) -> None:
    config = LLMConfig(model="m", model_endpoint_type=dialect.kind, context_window=8_000)
    assert reasoning_defaults(config, AgentType.LETTA_V1).enable_reasoner
    off = config.model_copy(update={"enable_reasoner": False})
    assert not reasoning_defaults(off, AgentType.LETTA_V1).enable_reasoner


def test_where_responses_are_not_called_nobody_is_told_to_ask_for_them() -> None:
    with pytest.raises(ModelBadRequest, match=r"set AZURE_WIRE=responses, or choose another model$"):
        sent(AZURE, model="gpt-6-astra", tools=(MEMORY_INSERT,))
    own = OpenAIModel(api_key="k", base_url="http://127.0.0.1:9/v1", windows=ContextWindows(), name="our-azure", dialect=AZURE)
    with pytest.raises(ModelBadRequest, match=r"not called at this address: choose another model$"):
        own.payload(asked(model="gpt-6-astra", tools=(MEMORY_INSERT,)))


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
    assert ("named" if isinstance(choice, dict) else choice) in dialect.choices
    assert ("tools" in body) is (mode != "none" or "none" in dialect.choices)


def test_a_named_choice_is_a_required_one_where_the_server_knows_texts_alone() -> None:
    assert sent(LM_STUDIO, tools=(MEMORY_INSERT,), choice=ToolChoice("named", "memory_insert"))["tool_choice"] == "required"


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
