"""Bedrock's Converse API, for models that have no wire of their own there: Nova, Llama, Mistral, DeepSeek, Cohere and others."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from hibernaut.adapters.model.bedrock import converse_messages, converse_replies
from hibernaut.adapters.model.bedrock.converse_models import ConverseTraits, converse_traits
from hibernaut.adapters.model.bedrock.converse_replies import ConverseSent
from hibernaut.adapters.model.bedrock.event_stream import events, is_event_stream
from hibernaut.adapters.model.bedrock_endpoints import ACCEPT, path_of
from hibernaut.adapters.model.learned_traits import LearnedTraits, Say
from hibernaut.adapters.model.wire.provider_client import ProviderClient
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelBadRequest, ModelError, ModelPermission

_NO_CHOICE = re.compile(r"toolConfig\.toolChoice", re.IGNORECASE)
"""How a model refuses a forced choice (vercel/ai#4396, aws-samples/bedrock-access-gateway#92)."""
_NO_STREAM = re.compile(
    r"tool use in streaming mode|does(?:n't| not) support (?:the )?(?:streaming|ConverseStream)", re.IGNORECASE
)
"""How a model refuses tools in a stream (earendil-works/pi#3739), or a stream at all (run-llama/llama_index#19655)."""
_NO_CACHE = re.compile(r"cachePoint|prompt caching", re.IGNORECASE)
"""How a model refuses cache points, with the status 403 (Portkey-AI/docs-core#1025)."""

_NO_FORM = re.compile(r"outputConfig", re.IGNORECASE)
"""How a model refuses a schema for its reply: by the field's name, as it refuses others."""


class ConverseModel:
    """The wire for all models of one account and region. After a model refuses a parameter, later requests to it omit the
    parameter.
    """

    def __init__(self, client: ProviderClient) -> None:
        self._client = client
        self._traits = LearnedTraits(converse_traits, _without)

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        return self._traits.complete(
            request.config.model, on_delta, lambda traits, say: self._complete(request, traits, say, on_open)
        )

    def _complete(
        self, request: ModelRequest, traits: ConverseTraits, on_delta: Say | None, on_open: OnOpen | None
    ) -> ModelReply:
        model = request.config.model
        body = converse_messages.payload(request, self._client.name, traits)
        sent = ConverseSent(self._client.name, model, body)
        say = on_delta if traits.streams_tools or not request.tools else None
        with self._client.call() as call:
            if on_open is not None:
                on_open(call.hang_up)
            path = path_of(model, "converse" if say is None else "converse-stream")
            with call.post(path, body, request.timeout, ACCEPT) as answer:
                request_id = answer.response.headers.get("x-amzn-requestid")
                if say is None or not is_event_stream(answer):
                    return converse_replies.whole(sent, answer.body(), request_id)
                return converse_replies.streamed(sent, events(answer), say, request_id)

    def payload(self, request: ModelRequest) -> JsonObject:
        """The body of the request. Raises: ModelBadRequest for a response format that the model does not have."""
        return converse_messages.payload(request, self._client.name, self._traits.of(request.config.model))


def _without(traits: ConverseTraits, refusal: ModelError, *, streams: bool) -> ConverseTraits:
    """The traits without what a refusal names."""
    if not isinstance(refusal, ModelBadRequest | ModelPermission):
        return traits
    if _NO_CHOICE.search(refusal.detail):
        return replace(traits, forces=False)
    if streams and _NO_STREAM.search(refusal.detail):
        return replace(traits, streams_tools=False)
    if _NO_FORM.search(refusal.detail):
        return replace(traits, structured=False)
    return replace(traits, caches=False) if _NO_CACHE.search(refusal.detail) else traits
