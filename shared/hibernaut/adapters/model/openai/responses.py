"""OpenAI's Responses API, without state on the server."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from hibernaut.adapters.model.dialects import Dialect
from hibernaut.adapters.model.learned_traits import LearnedTraits, Say
from hibernaut.adapters.model.openai import responses_messages, responses_replies
from hibernaut.adapters.model.openai.chat_completions import OFFICIAL_URL, OpenAIModel
from hibernaut.adapters.model.openai.responses_replies import SentRequest
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.adapters.model.wire.provider_client import Headers, ProviderCall, ProviderClient, dial_any, fixed
from hibernaut.adapters.model.wire.provider_errors import refuses_streams
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelBadRequest, ModelError, ModelNotFound
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription

if TYPE_CHECKING:
    from httpx2 import Client

logger = logging.getLogger(__name__)

_REFUSED = {
    # Summaries are for verified organisations (openai/openai-cookbook#2271).
    "summary": re.compile(r"reasoning[ ._]summar", re.IGNORECASE),
    # "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model." (openai/openai-agents-python#2089)
    "effort": re.compile(r"reasoning[._]effort|value: '(?:none|minimal|low|medium|high|xhigh|max)'", re.IGNORECASE),
    # "Unsupported parameter: 'temperature' is not supported with this model." (BerriAI/litellm#39631)
    "sampling": re.compile(r"'(?:temperature|top_logprobs|logprobs)'|output_text\.logprobs", re.IGNORECASE),
    # "Unsupported parameter: 'text.verbosity' is not supported with this model."
    "verbosity": re.compile(r"verbosity", re.IGNORECASE),
    # No source tells which models take the form; without it the turn machine refuses calls that are not allowed.
    "allowed": re.compile(r"allowed_tools", re.IGNORECASE),
    # "Encrypted content is not supported with this model." (OpenHands/software-agent-sdk#1208)
    "encrypted": re.compile(r"encrypted content is not supported", re.IGNORECASE),
    # "The encrypted content … could not be verified." (openai/codex#8145); an item that is not found (maximhq/bifrost#5410), or
    # stands without the one that belongs to it (continuedev/continue#8933).
    "native": re.compile(
        r"encrypted.content .*(?:could not be|not issued)|items are not persisted|without its required", re.IGNORECASE
    ),
}
"""What a provider refuses by its words. A request without it is sent at once, because none of it is worth a failed turn."""
_OF_ONE_REQUEST = frozenset({"native"})


class ResponsesModel:
    """One address that speaks the Responses API. Without `base_url` it is OpenAI's own; without `api_key` the request has a
    placeholder key, and with `headers` these instead.
    """

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None = None,
        windows: ContextWindows,
        name: str = "openai",
        dialect: Dialect | None = None,
        headers: Headers | None = None,
        dial: Dial[Client] = dial_any,
    ) -> None:
        url = (base_url or OFFICIAL_URL).rstrip("/")
        self._name = name
        self._client = ProviderClient(name, url, headers or fixed({"Authorization": f"Bearer {api_key or 'none'}"}), dial)
        self._list = OpenAIModel(api_key=api_key, base_url=base_url, windows=windows, name=name, dialect=dialect, dial=dial)
        self._omitted = LearnedTraits(lambda _: frozenset[str](), _without)

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        """As the port says. After the provider refuses a parameter for a model, later requests to the model omit it."""
        return self._omitted.complete(
            request.config.model,
            on_delta,
            lambda omitted, say: self._complete(request, omitted, say, on_open),
            persistent=lambda omitted: omitted - _OF_ONE_REQUEST,
        )

    def _complete(
        self, request: ModelRequest, omitted: frozenset[str], on_delta: Say | None, on_open: OnOpen | None
    ) -> ModelReply:
        body = responses_messages.payload(request, self._name, omitted)
        say = None if "stream" in omitted else on_delta
        if say is not None:
            body = {"stream": True, **body}
        sent_request = SentRequest(self._name, request.config.model, body)
        with self._client.call() as call:
            if on_open is not None:
                on_open(call.hang_up)
            return _answered(call, sent_request, request.timeout, say)

    def payload(self, request: ModelRequest) -> JsonObject:
        """As the port says."""
        return responses_messages.payload(request, self._name, self._omitted.of(request.config.model))

    def models(self) -> list[ModelDescription]:
        """As the port says. The list is the same on both wires, and includes models that only this wire serves."""
        return self._list.models()

    def check(self) -> None:
        """As `ListsModels` says."""
        self._list.check()

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """As the port says."""
        return self._list.embedding_models()


def _answered(call: ProviderCall, request: SentRequest, seconds: float, say: Callable[[Delta], None] | None) -> ModelReply:
    with call.post("/responses", request.sent, seconds) as answer:
        request_id = answer.response.headers.get("x-request-id")
        if say is None or not answer.streams:
            reply = responses_replies.whole(request, answer.body(), request_id)
        else:
            reply = responses_replies.streamed(request, answer.events(), say, request_id)
    _tell_withheld(request, reply)
    return reply


def _tell_withheld(request: SentRequest, reply: ModelReply) -> None:
    """Log how much reasoning the provider withheld from the model, for example after a change of earlier messages."""
    received = reply.exchange.received if reply.exchange is not None else {}
    withheld = [each for each in received.get("input_transformations") or () if isinstance(each, dict)]
    if withheld:
        reasons = sorted({str(each.get("reason")) for each in withheld})
        logger.info(
            "reasoning withheld",
            extra={"provider": request.provider, "model": request.model, "count": len(withheld), "reasons": ", ".join(reasons)},
        )


def _without(omitted: frozenset[str], refusal: ModelError, *, streams: bool) -> frozenset[str]:
    """The parameters to omit after a refusal."""
    if not isinstance(refusal, ModelBadRequest | ModelNotFound):
        return omitted
    for name, words in _REFUSED.items():
        if name not in omitted and words.search(refusal.detail):
            return omitted | {name}
    no_streams = streams and isinstance(refusal, ModelBadRequest) and refuses_streams(refusal)
    return omitted | {"stream"} if no_streams else omitted
