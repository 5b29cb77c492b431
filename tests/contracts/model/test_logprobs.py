"""Log probabilities: asked for by each wire that has them, brought back in one form, and refused before anything is sent
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hibernaut.adapters.model.dialects import DEEPSEEK, GROQ, MISTRAL, VLLM
from hibernaut.adapters.model.google.gemini import GeminiModel
from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.schemas.errors import ModelBadRequest
from tests.contracts.model.spoken import KEY, Spoken, spoken_openai, spoken_responses
from tests.support.gemini_server import GeminiServer
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.responses_server import ScriptedResponses, message
from tests.support.rows import Rows

TEXT = "Hello, my dear Ann."
TOKENS: list[dict[str, Any]] = [
    {"token": "Hello", "logprob": -0.25, "bytes": None, "top_logprobs": [{"token": "Hi", "logprob": -1.5, "bytes": None}]},
    {"token": " Ann", "logprob": -0.5, "bytes": None, "top_logprobs": []},
]
ASKED = {"return_logprobs": True, "top_logprobs": 3}


@pytest.fixture(params=["chat", "responses", "gemini"])
def telling(request: pytest.FixtureRequest) -> Iterator[Spoken]:
    """Each wire that has log probabilities, with a server that gives them."""
    match request.param:
        case "chat":
            with ScriptedOpenAI(lambda *_: {"content": TEXT, "logprobs": TOKENS}) as chat:
                yield spoken_openai(chat)
        case "responses":
            said = message(TEXT)
            said["content"][0]["logprobs"] = TOKENS
            with ScriptedResponses(lambda *_: {"items": [said]}) as responses:
                yield spoken_responses(responses)
        case _:
            with GeminiServer(lambda *_: {"content": TEXT, "logprobs": TOKENS}) as gemini:
                yield Spoken("google_ai", GeminiModel(api_key=KEY, base_url=gemini.url, windows=ContextWindows()), gemini)


@pytest.mark.parametrize("streamed", [False, True])
def test_they_come_back_in_one_form(telling: Spoken, *, streamed: bool) -> None:
    heard: list[Any] = []
    reply = telling.model.complete(telling.request(Rows().user("hi"), config=ASKED), heard.append if streamed else None)
    assert reply.text == TEXT
    assert reply.logprobs == {"content": TOKENS, "refusal": None}
    assert bool(heard) is streamed


def test_none_are_asked_for_unless_the_request_says_so(telling: Spoken) -> None:
    assert "logprobs" not in str(telling.model.payload(telling.request(Rows().user("hi"), config={"top_logprobs": 3}))).lower()


def test_no_more_alternatives_are_asked_for_than_a_provider_has(telling: Spoken) -> None:
    body = telling.model.payload(telling.request(Rows().user("hi"), config=ASKED | {"top_logprobs": 90}))
    assert 20 in (body.get("top_logprobs"), body.get("generationConfig", {}).get("logprobs"))


def test_a_token_that_is_not_one_is_skipped(openai: Spoken) -> None:
    broken = [
        "x",
        {"token": 7, "logprob": -1},
        {"token": "a"},
        {"token": "a", "logprob": True},
        TOKENS[1] | {"top_logprobs": ["x"]},
    ]
    openai.server.script = lambda *_: {"content": TEXT, "logprobs": broken}
    reply = openai.model.complete(openai.request(Rows().user("hi"), config=ASKED))
    assert reply.logprobs == {"content": [TOKENS[1]], "refusal": None}


def at(dialect: Any, server: ScriptedOpenAI) -> Spoken:
    model = OpenAIModel(api_key=KEY, base_url=server.url, windows=ContextWindows(), name=dialect.name, dialect=dialect)
    return Spoken(dialect.kind, model, server)


@pytest.mark.parametrize("dialect", [GROQ, MISTRAL], ids=lambda each: each.name)
def test_a_server_without_them_is_not_asked(openai: Spoken, dialect: Any) -> None:
    spoken = at(dialect, openai.server)  # type: ignore[arg-type]
    with pytest.raises(
        ModelBadRequest, match=f"{dialect.name}: {dialect.title} gives no log probabilities; leave return_logprobs out"
    ):
        spoken.model.complete(spoken.request(Rows().user("hi"), config=ASKED))
    assert openai.server.requests == []


def test_claude_has_none(anthropic: Spoken) -> None:
    with pytest.raises(ModelBadRequest, match="Claude gives no log probabilities"):
        anthropic.model.payload(anthropic.request(Rows().user("hi"), config=ASKED))


@pytest.mark.parametrize(("model", "effort"), [("gpt-5.4", "low"), ("gpt-6-astra", "none"), ("o3", None)])
def test_openais_models_have_none_while_they_reason(any_openai: Spoken, model: str, effort: str | None) -> None:
    config = ASKED | {"reasoning_effort": effort}
    with pytest.raises(ModelBadRequest, match=f"{model} gives no log probabilities while it reasons; set reasoning_effort"):
        any_openai.model.payload(any_openai.request(Rows().user("hi"), model=model, config=config))


def test_a_model_that_thinks_by_a_switch_has_them_when_it_is_off(openai: Spoken) -> None:
    spoken = at(DEEPSEEK, openai.server)  # type: ignore[arg-type]
    with pytest.raises(ModelBadRequest, match="set enable_reasoner false"):
        spoken.model.payload(spoken.request(Rows().user("hi"), config=ASKED))
    assert spoken.model.payload(spoken.request(Rows().user("hi"), config=ASKED | {"enable_reasoner": False}))["top_logprobs"] == 3


def test_a_server_of_ones_own_has_them_for_any_model(openai: Spoken) -> None:
    body = at(VLLM, openai.server).model.payload(openai.request(Rows().user("hi"), config={"return_logprobs": True}))  # type: ignore[arg-type]
    assert (body["logprobs"], "top_logprobs" in body) == (True, False)
