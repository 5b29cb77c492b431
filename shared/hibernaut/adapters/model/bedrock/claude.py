"""Claude on Bedrock: the Messages API by InvokeModel and InvokeModelWithResponseStream.

The body is that of Anthropic's API with these differences (docs.aws.amazon.com/bedrock/latest/userguide/
model-parameters-anthropic-claude-messages-request-response.html): the path names the model and whether the reply streams, the
body names the version and the betas, and it has no `metadata`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from hibernaut.adapters.model.anthropic import anthropic_replies
from hibernaut.adapters.model.anthropic.anthropic_messages import INTERLEAVED_BETA, MessagesRequest, MessagesServer, request_of
from hibernaut.adapters.model.anthropic.anthropic_replies import Origin
from hibernaut.adapters.model.anthropic.anthropic_turns import THINKING
from hibernaut.adapters.model.bedrock.event_stream import chunks, is_event_stream
from hibernaut.adapters.model.bedrock_endpoints import ACCEPT, path_of
from hibernaut.adapters.model.learned_traits import LearnedTraits, Say
from hibernaut.adapters.model.wire.provider_client import ProviderClient
from hibernaut.domain.models.anthropic_models import AnthropicTraits, traits_of
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelBadRequest, ModelError
from hibernaut.schemas.models.model_call import CacheLife

VERSION = "bedrock-2023-05-31"
BETAS = frozenset({INTERLEAVED_BETA})
"""Any other beta is "invalid beta flag" on some models (anthropics/claude-code#49370); this one is sent with a budget only."""
_EXTRA = re.compile(r"(?:output_config\.(format|effort)|(output_config)|\b(strict)): Extra inputs are not permitted")
_OMITTED = frozenset({"model", "metadata", "cache_control"})
"""`cache_control` of the whole body: "Extra inputs are not permitted" (BerriAI/litellm#26320,
UKGovernmentBEIS/inspect_ai#3851).
"""


class ClaudeOnBedrock:
    """The wire for all Claude models of one account and region. After a model refuses a parameter, later requests to it omit the
    parameter.
    """

    def __init__(self, client: ProviderClient, cache_life: CacheLife) -> None:
        self._client = client
        self._cache_life = cache_life
        self._traits = LearnedTraits(bedrock_traits, _without)

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        return self._traits.complete(
            request.config.model, on_delta, lambda traits, say: self._complete(self._body(request, traits), request, say, on_open)
        )

    def _complete(self, body: JsonObject, request: ModelRequest, on_delta: Say | None, on_open: OnOpen | None) -> ModelReply:
        model = request.config.model
        origin = Origin(self._client.name, model)
        path = path_of(model, "invoke" if on_delta is None else "invoke-with-response-stream")
        with self._client.call() as call:
            if on_open is not None:
                on_open(call.hang_up)
            with call.post(path, body, request.timeout, ACCEPT) as answer:
                request_id = answer.response.headers.get("x-amzn-requestid")
                if on_delta is None or not is_event_stream(answer):
                    return anthropic_replies.whole(origin, answer.body(), request_id, sent=body)
                return anthropic_replies.streamed(origin, chunks(answer), on_delta, request_id, sent=body)

    def payload(self, request: ModelRequest) -> JsonObject:
        """The body of the request. Raises: ModelBadRequest for a response format that the model does not have."""
        return self._body(request, self._traits.of(request.config.model))

    def _body(self, request: ModelRequest, traits: AnthropicTraits) -> JsonObject:
        # Models before 4.5 take no time to live (docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html), nor schemas
        # anywhere.
        life: CacheLife = self._cache_life if traits_of(request.config.model).structured else "5m"
        return invoke_body(request_of(request, traits, MessagesServer(self._client.name, BETAS, life)))


def bedrock_traits(model: str) -> AnthropicTraits:
    """What the model takes on Bedrock. Opus 4.5 has its efforts only by a beta there (anthropics/claude-code-action#1005), and
    Opus 4.7 no structured outputs (anomalyco/models.dev#1765).
    """
    traits = traits_of(model)
    if "opus-4-5" in model:
        return replace(traits, efforts=frozenset())
    return replace(traits, structured=False) if "opus-4-7" in model else traits


def _without(traits: AnthropicTraits, refusal: ModelError, *, streams: bool) -> AnthropicTraits:
    """The traits without what a refusal names: "output_config.format: Extra inputs are not permitted"
    (anomalyco/models.dev#1765), "output_config.effort: …" (anthropics/claude-code-action#1005), "output_config: …"
    (vercel/ai#17737), "tools.0.custom.strict: …".
    """
    del streams
    if not isinstance(refusal, ModelBadRequest):
        return traits
    refused = {name for names in _EXTRA.findall(refusal.detail) for name in names if name}
    keeps_efforts = refused.isdisjoint({"effort", "output_config"})
    keeps_schemas = refused.isdisjoint({"format", "strict", "output_config"})
    return replace(
        traits,
        efforts=traits.efforts if keeps_efforts else frozenset(),
        structured=traits.structured and keeps_schemas,
    )


def invoke_body(messages_request: MessagesRequest) -> JsonObject:
    """The body of InvokeModel for a request of the Messages API. The marker of the whole body moves to the last block."""
    body: JsonObject = {"anthropic_version": VERSION} | {
        name: value for name, value in messages_request.body.items() if name not in _OMITTED
    }
    body["messages"] = _marked([_without_addresses(each) for each in body["messages"]], messages_request.body["cache_control"])
    return body | ({"anthropic_beta": list(messages_request.betas)} if messages_request.betas else {})


def _marked(messages: Sequence[JsonObject], marker: JsonObject) -> list[JsonObject]:
    """The messages with a cache marker on their last block. Thinking takes none ("Prompt caching", what can be cached)."""
    *before, last = messages
    content = list(last["content"])
    place = next((at for at in reversed(range(len(content))) if content[at].get("type") not in THINKING), None)
    if place is not None:
        content[place] = content[place] | {"cache_control": marker}
    return [*before, last | {"content": content}]


def _without_addresses(message: JsonObject) -> JsonObject:
    """The message with a note in place of each image that is only an address: Bedrock takes images as base64 alone
    (platform.claude.com/docs/en/build-with-claude/vision).
    """
    return message | {"content": [_without_address(block) for block in message["content"]]}


def _without_address(block: JsonObject) -> JsonObject:
    content: Json = block.get("content")
    if block.get("type") == "tool_result" and isinstance(content, list):
        return block | {"content": [_without_address(each) for each in content if isinstance(each, dict)]}
    source: Json = block.get("source")
    if isinstance(source, dict) and source.get("type") == "url":
        return {"type": "text", "text": f"[image {source.get('url')} cannot be shown here]"}
    return block
