"""What models have refused is left out of later requests, on every wire that learns: and a reply of which something was heard is
not asked for again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hibernaut.adapters.model.bedrock.bedrock import BedrockModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.adapters.model.provider_settings import of_bedrock
from hibernaut.ports.model import Delta, ModelRequest, ToolChoice
from hibernaut.schemas.errors import ModelBadRequest, ModelError
from hibernaut.schemas.models.llm_config import LLMConfig
from tests.contracts.model.kit.bedrock import CLAUDES, CONVERSES, BedrockServer, ClaudeOnBedrockServer, ConverseServer
from tests.contracts.model.kit.bedrock_rules import REGION
from tests.contracts.model.kit.converse_rules import NOVA
from tests.contracts.model.kit.plays import reply
from tests.contracts.model.spoken import Spoken
from tests.support.event_frames import exception
from tests.support.rows import MEMORY_INSERT, Rows

HAIKU = "eu.anthropic.claude-haiku-4-5"
REFUSALS = {
    HAIKU: "output_config.format: Extra inputs are not permitted",
    NOVA: "This model doesn't support the toolConfig.toolChoice.any field.",
}


@pytest.fixture(params=[HAIKU, NOVA])
def bedrock(request: pytest.FixtureRequest) -> Iterator[tuple[BedrockServer, BedrockModel, str]]:
    """A server, its model, and the name of the model, for each wire of Bedrock that learns."""
    made = ClaudeOnBedrockServer(CLAUDES[2]) if request.param == HAIKU else ConverseServer(CONVERSES[0])
    with made as server:
        settings = of_bedrock(REGION, url=server.address)
        assert settings is not None
        yield server, BedrockModel(settings, windows=ContextWindows()), request.param


def asked(model: str) -> ModelRequest:
    config = LLMConfig(model=model, model_endpoint_type="bedrock", context_window=32_000)
    rows = (Rows().user("Hello."),)
    return ModelRequest(config, "Be kind.", rows, (MEMORY_INSERT,), ToolChoice("required"), timeout=20.0)


def failing(server: BedrockServer, text: str, *, after: int) -> None:
    """Let each stream end by a refusal with this text, after so many events."""
    own = server.events

    def cut(say: Any) -> Iterator[bytes]:
        for number, piece in enumerate(own(say)):
            if number == after:
                yield exception("validationException", text)
                return
            yield piece

    server.events = cut  # type: ignore[method-assign]


def test_a_refusal_after_the_first_piece_of_a_reply_surfaces(bedrock: tuple[BedrockServer, BedrockModel, str]) -> None:
    server, model, name = bedrock
    server.plays(reply("A long reply in many pieces."), reply("Another one."))
    failing(server, REFUSALS[name], after=4)
    heard: list[Delta] = []
    with pytest.raises(ModelBadRequest, match=r"Extra inputs|toolChoice"):
        model.complete(asked(name), heard.append)
    assert heard, "a piece was passed on before the refusal"
    assert len(server.requests) == 1, "the beginning of the reply would be heard twice"


def test_a_refusal_before_the_first_piece_is_learned_from(bedrock: tuple[BedrockServer, BedrockModel, str]) -> None:
    server, model, name = bedrock
    own = server.events
    server.plays(reply("One."), reply("Two."), reply("Three."))

    def once(say: Any) -> Iterator[bytes]:
        return iter([exception("validationException", REFUSALS[name])]) if len(server.requests) == 1 else own(say)

    server.events = once  # type: ignore[method-assign]
    heard: list[Delta] = []
    assert [model.complete(asked(name), heard.append).text for _ in range(2)] == ["Two.", "Three."]
    assert "".join(each.text for each in heard) == "Two.Three."
    assert len(server.requests) == 3


def test_a_chat_stream_that_began_is_not_asked_for_again(openai: Spoken) -> None:
    piece = {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}
    refusal = {"error": {"message": "This model does not support streaming.", "code": 400}}
    openai.server.says(raw="".join(f"data: {json.dumps(each)}\n\n" for each in (piece, refusal)).encode())
    heard: list[Delta] = []
    with pytest.raises(ModelBadRequest):
        openai.model.complete(openai.request(Rows().user("Hi.")), heard.append)
    assert [each.text for each in heard] == ["Hel"]
    assert len(openai.server.requests) == 1


def test_a_responses_stream_that_began_is_not_asked_for_again(responses: Spoken) -> None:
    item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": ""}]}
    said: list[Any] = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "Hel"},
        {"type": "error", "code": "invalid_request_error", "message": "Unsupported value: 'text.verbosity' is not supported."},
    ]
    responses.server.says(raw="".join(f"data: {json.dumps(each)}\n\n" for each in said).encode())
    heard: list[Delta] = []
    with pytest.raises(ModelError):
        responses.model.complete(responses.request(Rows().user("Hi.")), heard.append)
    assert [each.text for each in heard] == ["Hel"]
    assert len(responses.server.requests) == 1
