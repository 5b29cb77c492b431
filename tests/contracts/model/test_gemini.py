"""Gemini's wire, against a server that enforces Google's documented rules (`tests.support.gemini_server`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.adapters.model.google.gemini import GeminiModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, ToolChoice
from hibernaut.schemas.content import Base64Image, ImageContent, ReasoningContent, TextContent
from hibernaut.schemas.errors import InvalidModelResponse, ModelBadRequest, ModelConnection
from hibernaut.schemas.messages.message import FunctionCall, Message, ToolCall
from hibernaut.schemas.models.llm_config import JsonObjectResponseFormat, JsonSchemaResponseFormat, LLMConfig
from tests.contracts.model.spoken import KEY
from tests.support.gemini_server import GeminiServer
from tests.support.rows import MEMORY_INSERT, SEARCH, Rows, called, gave, prompt

NEW, OLD = "gemini-3.8-flash", "gemini-2.5-flash"
BOTH = (MEMORY_INSERT, SEARCH)
CALLS = [
    {"id": "fc-1", "name": "memory_insert", "arguments": {"label": "human", "new_string": "Lives in Oslo."}},
    {"id": "fc-2", "name": "conversation_search", "arguments": {"query": "Oslo"}},
]
FULL: dict[str, Any] = {"reasoning": "They told me where they live.", "content": "I will note that.", "tool_calls": CALLS}


@pytest.fixture
def server() -> Iterator[GeminiServer]:
    with GeminiServer(models=[{"id": NEW}]) as made:
        yield made


@pytest.fixture
def model(server: GeminiServer) -> GeminiModel:
    return GeminiModel(api_key=KEY, base_url=server.url, windows=ContextWindows())


def request(*rows: Message, model: str = NEW, config: dict[str, Any] | None = None, **fields: Any) -> ModelRequest:
    made = LLMConfig(model=model, model_endpoint_type="google_ai", context_window=32_000, **(config or {}))
    return ModelRequest(config=made, messages=rows, **({"system": prompt(), "timeout": 20.0, "tools": BOTH} | fields))


def spoken(rows: Rows, reply: ModelReply, step: str) -> Message:
    """The row of a reply, as a step stores it."""
    made = [ToolCall(id=call.id, function=FunctionCall(name=call.name, arguments=call.arguments)) for call in reply.tool_calls]
    parts: Any = [*reply.reasoning, *([TextContent(text=reply.text)] if reply.text else [])]
    return rows.row("assistant", parts, tool_calls=made or None, native=reply.native, step_id=step, model=NEW)


def test_a_streamed_reply_is_the_whole_in_pieces(server: GeminiServer, model: GeminiModel) -> None:
    server.says(**FULL)
    asked, deltas = request(Rows().user("I live in Oslo")), list[Delta]()
    reply = model.complete(asked, deltas.append)
    assert reply == model.complete(asked)
    assert (reply.text, reply.finish_reason, reply.model, reply.request_id) == (
        "I will note that.", "tool_calls", "gemini-test-001", "resp-1"
    )  # fmt: skip
    assert reply.reasoning == (ReasoningContent(reasoning="They told me where they live."),)
    assert [(call.id, call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [
        (call["id"], call["name"], call["arguments"]) for call in CALLS
    ]
    for kind, whole in (("text", reply.text), ("reasoning", FULL["reasoning"])):
        assert "".join(delta.text for delta in deltas if delta.kind == kind) == whole
    assert server.requests[-1].headers["x-goog-api-key"] == KEY
    assert KEY not in server.requests[-1].path


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("ids", [True, False])
def test_a_tool_loop_of_five_with_parallel_calls_breaks_no_rule(
    server: GeminiServer, model: GeminiModel, *, streams: bool, ids: bool
) -> None:
    rows = Rows()
    log = [rows.user("I live in Oslo")]
    for step in range(5):
        server.says(**FULL, ids=ids)
        reply = model.complete(request(*log), (lambda _: None) if streams else None)
        log += [spoken(rows, reply, f"step-{step}"), rows.tool(*reversed([gave(call.id) for call in reply.tool_calls]))]
    server.says(content="Done.")
    assert model.complete(request(*log)).text == "Done."
    assert server.refusals == []
    said = [content["parts"] for content in server.requests[-1].body["contents"] if content["role"] == "model"]
    assert said == [row.native.items for row in log if row.native]
    assert all(parts[0]["thought"] and parts[2]["thoughtSignature"] in server.issued for parts in said)


def test_a_history_of_another_model_is_accepted_in_the_current_turn(server: GeminiServer, model: GeminiModel) -> None:
    rows = Rows()
    log = [rows.user("hi"), rows.assistant("", called("a", "memory_insert"), called("b", "memory_insert")),
           rows.tool(gave("a"), gave("b", "no", "error"))]  # fmt: skip
    model.complete(request(*log))
    model.complete(request(*log, model=OLD))
    assert server.refusals == []
    answers = server.requests[0].body["contents"][-1]["parts"]
    assert [[*part["functionResponse"]["response"]] for part in answers] == [["output"], ["error"]]


def test_another_gemini_gets_no_foreign_signature(server: GeminiServer, model: GeminiModel) -> None:
    rows = Rows()
    log = [rows.user("hi")]
    server.says(**FULL)
    reply = model.complete(request(*log))
    log += [spoken(rows, reply, "step-1"), rows.tool(*[gave(call.id) for call in reply.tool_calls])]
    server.says(content="Done.")
    model.complete(request(*log, model="gemini-4-argon"))
    assert server.refusals == []


def test_a_call_without_a_return_makes_the_reply_ours(server: GeminiServer, model: GeminiModel) -> None:
    rows = Rows()
    log = [rows.user("hi")]
    server.says(**FULL)
    reply = model.complete(request(*log))
    log += [spoken(rows, reply, "step-1"), rows.tool(gave("fc-2"))]
    server.says(content="Done.")
    model.complete(request(*log))
    assert server.refusals == []


def test_images_stand_beside_what_they_belong_to(server: GeminiServer, model: GeminiModel) -> None:
    rows = Rows()
    image = ImageContent(source=Base64Image(media_type="image/jpeg", data="aGk="))
    shown = gave("a").model_copy(update={"images": [image]})
    log = [rows.user([TextContent(text="look"), image]), rows.assistant("", called("a", "memory_insert")), rows.tool(shown)]
    model.complete(request(*log))
    contents = server.requests[-1].body["contents"]
    inline = {"inlineData": {"mimeType": "image/jpeg", "data": "aGk="}}
    assert (contents[0]["parts"][1], contents[2]["parts"][1]) == (inline, inline)
    assert server.refusals == []


@pytest.mark.parametrize(
    ("choice", "allowed", "expected"),
    [
        (ToolChoice(), None, {"mode": "AUTO"}),
        (ToolChoice(), ["memory_insert"], {"mode": "VALIDATED", "allowedFunctionNames": ["memory_insert"]}),
        (ToolChoice("required"), None, {"mode": "ANY"}),
        (ToolChoice("required"), ["memory_insert"], {"mode": "ANY", "allowedFunctionNames": ["memory_insert"]}),
        (ToolChoice("named", "memory_insert"), ["memory_insert"], {"mode": "ANY", "allowedFunctionNames": ["memory_insert"]}),
        (ToolChoice("none"), [], {"mode": "NONE"}),
    ],
)
def test_what_may_be_called_is_said_beside_the_same_declarations(
    server: GeminiServer, model: GeminiModel, choice: ToolChoice, allowed: list[str] | None, expected: object
) -> None:
    model.complete(request(Rows().user("hi"), choice=choice, allowed=allowed))
    sent = server.requests[-1].body
    assert sent["toolConfig"]["functionCallingConfig"] == expected
    assert [tool["name"] for tool in sent["tools"][0]["functionDeclarations"]] == [tool.name for tool in BOTH]
    assert server.refusals == []


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("gemini-2.0-flash", {"enable_reasoner": True}, None),
        (OLD, {"enable_reasoner": False}, {"includeThoughts": False, "thinkingBudget": 0}),
        (OLD, {"max_reasoning_tokens": 2000}, {"includeThoughts": True, "thinkingBudget": 2000}),
        ("gemini-2.5-pro", {"enable_reasoner": False}, {"includeThoughts": False, "thinkingBudget": 128}),
        (NEW, {"enable_reasoner": False}, {"includeThoughts": False, "thinkingLevel": "low"}),
        (NEW, {"max_reasoning_tokens": 2000}, {"includeThoughts": True}),
        (NEW, {"effort": "medium"}, {"includeThoughts": True, "thinkingLevel": "medium"}),
        ("gemini-4-argon", {"effort": "max"}, {"includeThoughts": True, "thinkingLevel": "high"}),
    ],
)
def test_thinking_is_asked_for_as_each_family_takes_it(
    server: GeminiServer, model: GeminiModel, name: str, config: dict[str, Any], expected: object
) -> None:
    model.complete(request(Rows().user("hi"), model=name, config=config))
    assert server.requests[-1].body["generationConfig"].get("thinkingConfig") == expected
    assert server.refusals == []


def test_structured_output_is_sent_or_refused_before_anything_is_sent(server: GeminiServer, model: GeminiModel) -> None:
    schema = JsonSchemaResponseFormat(json_schema={"name": "a", "schema": {"type": "object"}})
    model.complete(request(Rows().user("hi"), config={"response_format": schema}))
    assert server.requests[-1].body["generationConfig"]["responseJsonSchema"] == {"type": "object"}
    with pytest.raises(ModelBadRequest, match="Gemini 3 or later, or detach"):
        model.complete(request(Rows().user("hi"), model=OLD, config={"response_format": JsonObjectResponseFormat()}))
    model.complete(request(Rows().user("hi"), model=OLD, tools=(), config={"response_format": schema}))
    assert (len(server.requests), server.refusals) == (2, [])


def test_too_many_tools_are_refused_before_anything_is_sent(server: GeminiServer, model: GeminiModel) -> None:
    with pytest.raises(ModelBadRequest, match="513 tools in one request, at most 512"):
        model.complete(request(Rows().user("hi"), tools=(MEMORY_INSERT,) * 513))
    assert server.requests == []


@pytest.mark.parametrize(
    ("finish", "ours"), [("STOP", "stop"), ("MAX_TOKENS", "length"), ("SAFETY", "refusal"), ("SPII", "refusal"), ("NEW", "other")]
)
def test_the_reason_to_finish_is_translated(server: GeminiServer, model: GeminiModel, finish: str, ours: str) -> None:
    server.says(content="So", finish_reason=finish)
    assert model.complete(request(Rows().user("hi"))).finish_reason == ours
    assert model.complete(request(Rows().user("hi")), lambda _: None).finish_reason == ours


def test_a_prompt_that_is_blocked_is_a_refusal(server: GeminiServer, model: GeminiModel) -> None:
    body = {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 3},
    }
    server.says(raw=json.dumps(body).encode())
    reply = model.complete(request(Rows().user("hi")))
    assert (reply.finish_reason, reply.text, reply.usage.prompt_tokens) == ("refusal", "", 3)


def test_a_call_that_google_could_not_read_is_an_invalid_reply(server: GeminiServer, model: GeminiModel) -> None:
    server.says(finish_reason="MALFORMED_FUNCTION_CALL")
    for on_delta in (None, lambda _: None):
        with pytest.raises(InvalidModelResponse, match="MALFORMED_FUNCTION_CALL"):
            model.complete(request(Rows().user("hi")), on_delta)


def test_usage_counts_thoughts_and_what_was_cached(server: GeminiServer, model: GeminiModel) -> None:
    used = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 80,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 7,
        "totalTokenCount": 112,
    }
    server.says(content="So", usage=used)
    usage = model.complete(request(Rows().user("hi"))).usage
    assert (usage.prompt_tokens, usage.cached_input_tokens, usage.completion_tokens, usage.reasoning_tokens, usage.total_tokens) == (
        100, 80, 12, 7, 112
    )  # fmt: skip


def test_the_list_is_read_page_by_page(server: GeminiServer, model: GeminiModel) -> None:
    pages = [
        {"models": [{"name": "models/gemini-3.8-flash", "displayName": "Flash", "inputTokenLimit": 1048576, "outputTokenLimit": 65536,
                     "supportedGenerationMethods": ["generateContent"]}], "nextPageToken": "t-1"},
        {"models": [{"name": "models/gemini-embedding-001", "supportedGenerationMethods": ["embedContent"]},
                    {"name": "models/gemini-3.1-flash-image", "supportedGenerationMethods": ["generateContent"]},
                    {"name": "models/gemini-4-argon", "supportedGenerationMethods": ["generateContent"]}, "?"]},
    ]  # fmt: skip
    listing = iter(pages)
    server.listing = lambda: next(listing)  # type: ignore[method-assign]
    rows = model.models()
    assert [(row.handle, row.display_name, row.context_window, row.max_tokens) for row in rows[:1]] == [
        ("google_ai/gemini-3.8-flash", "Flash", 1048576, 65536)
    ]
    assert [row.model for row in rows] == ["gemini-3.8-flash", "gemini-4-argon"]
    assert [asked.path for asked in server.listings] == [
        "/v1beta/models?pageSize=1000",
        "/v1beta/models?pageSize=1000&pageToken=t-1",
    ]


def test_the_list_tells_which_models_embed(server: GeminiServer, model: GeminiModel) -> None:
    rows = [{"name": f"models/{name}", "supportedGenerationMethods": ["embedContent"]} for name in ("gemini-embedding-001", "x")]
    server.listing = lambda: {"models": [*rows, {"name": "models/gemini-4", "supportedGenerationMethods": ["generateContent"]}]}  # type: ignore[method-assign]
    assert [(row.handle, row.embedding_dim, row.embedding_endpoint_type) for row in model.embedding_models()] == [
        ("google_ai/gemini-embedding-001", 3072, "google_ai")
    ]


def test_a_model_s_name_cannot_leave_its_path(server: GeminiServer, model: GeminiModel) -> None:
    model.complete(request(Rows().user("hi"), model="gemini-3 x"))
    assert server.requests[-1].path == "/v1beta/models/gemini-3%20x:generateContent"


GOOD: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
CALL = {"functionCall": {"name": "f", "args": {}}}
TOOLS = {"tools": [{"functionDeclarations": [{"name": "f"}]}]}


@pytest.mark.parametrize(
    ("name", "bad", "said"),
    [
        (NEW, GOOD | {"user": "x"}, "Unknown name"),
        (NEW, {"contents": []}, "empty"),
        (NEW, {"contents": [{"role": "model", "parts": [{"text": "hi"}]}]}, "valid role"),
        (NEW, {"contents": [*GOOD["contents"], {"role": "model", "parts": [CALL]}]}, "function response parts"),
        (NEW, {"contents": [*GOOD["contents"], {"role": "model", "parts": [CALL]},
                            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}]}, "missing a thought"),
        (NEW, {"contents": [*GOOD["contents"], {"role": "model", "parts": [{"text": "a", "thoughtSignature": "no"}]}]}, "Corrupted"),
        (NEW, GOOD | {"generationConfig": {"thinkingConfig": {"thinkingBudget": 5}}}, "thinking_level"),
        (OLD, GOOD | {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}}, "level is not"),
        ("gemini-2.5-pro", GOOD | {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}, "Budget 0"),
        ("gemini-2.0-flash", GOOD | {"generationConfig": {"thinkingConfig": {}}}, "not supported"),
        (NEW, GOOD | TOOLS | {"toolConfig": {"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["f"]}}}, "ANY or"),
        (NEW, GOOD | TOOLS | {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["g"]}}}, "subset"),
        (OLD, GOOD | TOOLS | {"generationConfig": {"responseMimeType": "application/json"}}, "mime type"),
    ],
)  # fmt: skip
def test_the_server_enforces_the_rules(server: GeminiServer, name: str, bad: dict[str, Any], said: str) -> None:
    answer = httpx.post(f"{server.url}/models/{name}:generateContent", json=bad)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]


def recorded() -> bytes:
    with GeminiServer() as server:
        return b"".join(server.events(FULL | {"model": NEW}))


STREAM = recorded()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=6), end=st.integers(0, len(STREAM)))
def test_a_stream_is_the_same_in_any_pieces_and_never_half(
    server: GeminiServer, model: GeminiModel, cuts: list[int], end: int
) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[begin:stop] for begin, stop in pairwise(edges) if stop > begin]
    server.events = lambda _: iter(pieces)  # type: ignore[method-assign]
    whole = model.complete(request(Rows().user("hi")), lambda _: None)
    assert (whole.text, len(whole.tool_calls)) == (FULL["content"], 2)
    if end <= STREAM.rindex(b"data:"):
        server.events = lambda _: iter([STREAM[:end]] if end else [])  # type: ignore[method-assign]
        with pytest.raises((ModelConnection, InvalidModelResponse)):
            model.complete(request(Rows().user("hi")), lambda _: None)
