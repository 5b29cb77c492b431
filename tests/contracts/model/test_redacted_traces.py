"""A redacted trace has no text of a conversation, on no wire: what was sent, and what came back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.adapters.model.anthropic.anthropic import AnthropicModel
from hibernaut.adapters.model.bedrock.bedrock import BedrockModel
from hibernaut.adapters.model.google.gemini import GeminiModel
from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.openai.responses import ResponsesModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.adapters.model.provider_settings import of_bedrock
from hibernaut.domain.trace_forms import without_words
from hibernaut.ports.model import Model, ModelRequest
from hibernaut.schemas.messages.message import FunctionCall, ToolCall
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.services.sending.sending import SendRequest
from tests.contracts.model.kit.converse_rules import NOVA
from tests.contracts.model.kit.engine import Engine
from tests.contracts.model.kit.plays import Think, ToolUse, reply
from tests.contracts.model.kit.server import Provider
from tests.contracts.model.kit.test_kit import PROVIDERS
from tests.support.rows import Rows, gave, tool

PLANTED = "zqx"
FORM_KEYS = (
    "id",
    "name",
    "type",
    "role",
    "model",
    "format",
    "object",
    "status",
    "content",
    "input",
    "body",
    "function",
    "schema",
)
KEYS = st.sampled_from(FORM_KEYS) | st.text("abc", max_size=3).map(lambda text: f"{PLANTED}{text}")
WORDS = st.text("abc ", max_size=4).map(lambda text: f"{PLANTED}{text}")
ARGUMENTS = st.dictionaries(
    KEYS, st.recursive(WORDS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3)), max_size=4
)
CALLS = {
    key: f"{PLANTED}-{key}" for key in FORM_KEYS
} | {"arguments": {"name": f"{PLANTED} inner", f"{PLANTED}key": [{"type": f"{PLANTED}-deep"}]}}  # fmt: skip


@pytest.mark.parametrize("provider", PROVIDERS, ids=[each.name for each in PROVIDERS])
def test_no_text_of_a_conversation_is_in_a_redacted_trace(provider: Provider, tmp_path: Path) -> None:
    properties = {key: {"type": "string", "default": f"{PLANTED}default"} for key in CALLS}
    with provider.server(provider) as server:
        engine = Engine(tmp_path, provider.variables(server.address), traces="redacted")
        engine.make_agent(provider.handle, schemas={"save": {"type": "object", "properties": properties}})
        server.plays(reply(Think(f"{PLANTED} thought"), f"{PLANTED}text", ToolUse("save", CALLS)), reply(f"{PLANTED}end"))
        body = LettaRequest.model_validate({"messages": [{"role": "user", "content": f"{PLANTED}ask", "name": f"{PLANTED}Ann"}]})
        sending = engine.world.sending
        accepted = sending.accept(SendRequest(engine.agent, body, "send_message", "digest"))
        sending.start(accepted.run_id)
        engine.world.workflow.drive()
        steps = engine.world.stores.steps.of_run(accepted.run_id)
        kept = [engine.world.stores.traces.get(accepted.run_id, step.id) for step in steps]
        sent = [json.dumps(request.body) for request in server.requests if request.method == "POST"]
        engine.close()
    assert len(kept) == len(steps) == 2
    assert all(PLANTED in each for each in sent)
    for trace in kept:
        assert trace is not None
        bodies = json.dumps([trace.request_json, trace.response_json])
        assert PLANTED not in bodies, bodies[max(0, bodies.index(PLANTED) - 300) :][:400]
        assert '"type"' in bodies or '"role"' in bodies
        assert '"save"' in bodies, "the form stays: who called which tool"


def adapters() -> list[tuple[Model, str]]:
    windows, url = ContextWindows(), "http://127.0.0.1:9"
    clouds = of_bedrock("eu-central-1", url=url)
    assert clouds is not None
    return [
        (OpenAIModel(api_key="k", base_url=url, windows=windows), "m"),
        (ResponsesModel(api_key="k", base_url=url, windows=windows), "m"),
        (AnthropicModel(api_key="k", base_url=url, windows=windows), "m"),
        (GeminiModel(api_key="k", base_url=url, windows=windows), "gemini-3.8-flash"),
        (BedrockModel(clouds, windows=windows), NOVA),
    ]


@given(WORDS, ARGUMENTS, WORDS)
@settings(max_examples=60, deadline=None)
def test_whatever_is_said_and_called_no_request_shows_it(said: str, arguments: dict[str, Any], returned: str) -> None:
    rows = Rows()
    call = ToolCall(id="call_1", function=FunctionCall(name="save", arguments=json.dumps(arguments)))
    log = [
        rows.row("user", said, name=f"{PLANTED}Ann"),
        rows.assistant(said, call),
        rows.tool(gave("call_1", json.dumps({returned: arguments}))),
        rows.user(json.dumps(arguments)),
    ]
    for model, name in adapters():
        config = LLMConfig(model=name, model_endpoint_type="openai", context_window=32_000)
        body = model.payload(ModelRequest(config, said, log, tools=[tool("save", value={"type": "string"})]))
        assert PLANTED in json.dumps(body)
        assert PLANTED not in json.dumps(without_words(body))


@given(ARGUMENTS)
def test_objects_with_members_of_the_same_length_keep_their_number(arguments: dict[str, Any]) -> None:
    (shown,) = without_words({"arguments": arguments}).values()
    assert len(shown) == len(arguments)


def test_what_a_provider_repeats_of_a_request_is_not_shown() -> None:
    repeated = {
        "status": 422,
        "body": {"detail": [{"type": "missing", "input": {"role": "user", "name": "Ann"}, "msg": "Hi Ann"}]},
    }
    tokens = {"choices": [{"logprobs": {"content": [{"token": "Ann", "bytes": [65, 110, 110], "logprob": -0.1}]}}]}
    assert "Ann" not in json.dumps(without_words(repeated))
    assert "65" not in json.dumps(without_words(tokens))
