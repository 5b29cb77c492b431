"""The adapter breaks no rule of the Responses wire, whatever it is asked and whatever was said before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.adapters.model.openai.responses import ResponsesModel
from hibernaut.adapters.model.openai.responses_models import STRENGTHS
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.ports.model import ModelRequest, ToolChoice
from hibernaut.schemas.content import Base64Image, ImageContent, TextContent
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.llm_config import LLMConfig
from tests.contracts.model.kit.openai_responses import PROVIDERS, ResponsesServer
from tests.contracts.model.kit.plays import ModelSpeech, Speak, Think, ToolUse
from tests.contracts.model.kit.responses_rules import MODELS
from tests.support.rows import TEXT, Rows, gave, tool

TOOLS = (
    tool("ring", required=("x",), strict=True, x=TEXT),
    tool("tell", strict=True, x=TEXT),
    tool("look", x={"anyOf": [TEXT, {"description": "anything"}]}),
)
WORDS = st.text(alphabet='ab \n"{é\U0001f600', min_size=1, max_size=8)
SPEECHES = st.builds(
    lambda parts, last: ModelSpeech((*parts, last)),
    st.lists(st.one_of(st.builds(Think, WORDS), st.builds(Speak, WORDS), st.just(ToolUse("ring", {"x": "a"}))), max_size=4),
    st.one_of(st.builds(Speak, WORDS), st.builds(lambda x: ToolUse("tell", {"x": x}), WORDS)),
)
STEPS = st.lists(
    st.tuples(SPEECHES, st.sampled_from(sorted(MODELS)), st.sampled_from([None, *STRENGTHS]), st.booleans(), st.booleans()),
    min_size=1,
    max_size=5,
)
CHOICES = st.sampled_from(
    [
        (ToolChoice("auto"), None),
        (ToolChoice("required"), ("tell", "ring")),
        (ToolChoice("named", "look"), ("look",)),
        (ToolChoice("auto"), ()),
        (ToolChoice("none"), None),
    ]
)


@pytest.fixture(scope="module")
def server() -> Iterator[ResponsesServer]:
    with ResponsesServer(PROVIDERS[0]) as made:
        yield made


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, choices=st.lists(CHOICES, min_size=5, max_size=5), pictured=st.booleans())
def test_no_request_breaks_a_rule(server: ResponsesServer, steps: list[Any], choices: list[Any], pictured: bool) -> None:
    """A conversation whose model, effort and tools change at any step, streamed or not, and whose calls return images or text."""
    model = ResponsesModel(api_key="k", base_url=server.url, windows=ContextWindows())
    rows, log = Rows(), list[Message]()
    image = ImageContent(source=Base64Image(media_type="image/png", data="AA==", detail="odd"))
    for (speech, name, effort, streams, speaks), (choice, allowed) in zip(steps, choices, strict=False):
        if speaks or not log:
            log.append(rows.user([TextContent(text="Go on."), *([image] if pictured else [])]))
        config = LLMConfig(
            model=name,
            model_endpoint_type="openai",
            context_window=1000,
            reasoning_effort=effort if effort != "max" else None,
            effort=effort if effort == "max" else None,
            return_logprobs=effort == "none" and "none" in MODELS[name].efforts,  # refused while a model reasons
            verbosity="low",
            max_tokens=3,
        )
        server.plays(speech)
        request = ModelRequest(
            config,
            "Be kind.",
            [*log],
            TOOLS,
            choice,
            parallel_tool_calls=True,
            user="agent-1",
            allowed=allowed,
            cache_key="c" * 70,
        )
        reply = model.complete(request, (lambda _: None) if streams else None)
        log.append(rows.replied(reply))
        if reply.tool_calls:
            returned = [gave(call.id).model_copy(update={"images": [image] if pictured else []}) for call in reply.tool_calls]
            log.append(rows.tool(*returned))
    assert not server.broken, json.dumps([str(each) for each in server.broken])
