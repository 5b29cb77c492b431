"""An adapter together with the small real server that speaks its wire format: what the suite is run on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hibernaut.adapters.model.anthropic.anthropic import AnthropicModel
from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.openai.responses import ResponsesModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.ports.model import Model, ModelReply, ModelRequest
from hibernaut.schemas.content import ReasoningContent, SummarizedReasoningContent
from hibernaut.schemas.models.llm_config import LLMConfig
from tests.support.provider_http import ScriptedServer
from tests.support.provider_servers import ScriptedAnthropic, ScriptedOpenAI
from tests.support.responses_server import ScriptedResponses
from tests.support.rows import prompt

KEY = "sk-planted-secret-key"


@dataclass
class Spoken:
    """An adapter and the server behind it. `log` is the member of a request's body that holds the log."""

    kind: str
    model: Model
    server: ScriptedServer
    log: str = "messages"

    def request(
        self, *messages: Any, model: str = "test-model", config: dict[str, Any] | None = None, **fields: Any
    ) -> ModelRequest:
        made = LLMConfig(model=model, model_endpoint_type=self.kind, context_window=32_000, **(config or {}))
        return ModelRequest(config=made, messages=messages, **({"system": prompt(), "timeout": 20.0} | fields))

    def sent(self) -> dict[str, Any]:
        """The body of the last call."""
        return self.server.requests[-1].body


def spoken_openai(server: ScriptedOpenAI) -> Spoken:
    return Spoken("openai", OpenAIModel(api_key=KEY, base_url=server.url, windows=ContextWindows()), server)


def spoken_anthropic(server: ScriptedAnthropic) -> Spoken:
    return Spoken("anthropic", AnthropicModel(api_key=KEY, base_url=server.url, windows=ContextWindows()), server)


def spoken_responses(server: ScriptedResponses) -> Spoken:
    return Spoken("openai", ResponsesModel(api_key=KEY, base_url=server.url, windows=ContextWindows()), server, log="input")


def thoughts(reply: ModelReply) -> str:
    """The reasoning that a reply shows."""
    shown = [part.reasoning for part in reply.reasoning if isinstance(part, ReasoningContent)]
    summaries = [part.summary for part in reply.reasoning if isinstance(part, SummarizedReasoningContent)]
    return "".join(shown) + "".join("\n\n".join(part.text for part in each) for each in summaries)
