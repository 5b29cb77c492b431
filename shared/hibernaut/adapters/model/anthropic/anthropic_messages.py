"""Builds the request of Anthropic's Messages API (RT 11.3). Pure; knows no connection.

Three of the four markers that a request may have enable prompt caching: on the last tool, on the system message, and, by the
body's own `cache_control`, on the last block of the last message. The last marker is not part of the messages, because it would
move with every request.
"""

from __future__ import annotations

import hashlib
import re
from typing import assert_never

from hibernaut.adapters.model.anthropic.anthropic_thinking import ROOM, Thinking, thinking_of
from hibernaut.adapters.model.anthropic.anthropic_tools import definitions, output_schema
from hibernaut.adapters.model.anthropic.anthropic_turns import loop_is_own, messages
from hibernaut.adapters.model.history import AssistantTurn, history
from hibernaut.adapters.model.strict_schemas import with_closed_objects
from hibernaut.adapters.model.token_logprobs import refuse_logprobs
from hibernaut.domain.models.anthropic_models import AnthropicTraits
from hibernaut.ports.model import ModelRequest
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelBadRequest
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.model_call import CacheLife

DEFAULT_MAX_TOKENS = 4096
BINDING_BETA = "thinking-binding-controls-2026-08-01"
INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"
BETAS = frozenset({BINDING_BETA, INTERLEAVED_BETA})
"""All betas that a request may need."""
_USER = re.compile(r"[A-Za-z0-9_-]{1,256}")
"""`metadata.user_id`: at most 256 characters (vercel/ai#12419); other servers take no others
(claude-code-best/claude-code#420).
"""


@immutable
class MessagesServer:
    """The server, as far as the builder needs it. `name` is the provider's name, `betas` are the supported ones of `BETAS`,
    `cache_life` is the time to live of all markers (`CacheControlEphemeralParam.ttl`).
    """

    name: str
    betas: frozenset[str]
    cache_life: CacheLife = "5m"


@immutable
class MessagesRequest:
    """The body of POST /v1/messages, and the values of its header `anthropic-beta`."""

    body: JsonObject
    betas: tuple[str, ...]


def request_of(request: ModelRequest, traits: AnthropicTraits, server: MessagesServer) -> MessagesRequest:
    """The request for a model with these traits. Raises: ModelBadRequest for log probabilities, and for a response format that it
    does not have.
    """
    config = request.config
    refuse_logprobs(request, f"{server.name}: Claude gives no log probabilities")
    turns = history(request.messages)

    def native(turn: AssistantTurn) -> list[JsonObject] | None:
        return turn.native("messages", server.name, config.model)

    thinking = thinking_of(config, traits, takes_betas=BINDING_BETA in server.betas, loop_is_own=loop_is_own(turns, native))
    sent = messages(turns, native, replays_thinking=thinking.replays, ends_with_user=bool(traits.thinking))
    cached: JsonObject = {"cache_control": {"type": "ephemeral"} | ({"ttl": "1h"} if server.cache_life == "1h" else {})}
    body: JsonObject = {"model": config.model, "max_tokens": _max_tokens(request, traits, thinking), "messages": sent} | cached
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system} | cached]
    can_force = traits.forced and not thinking.thinks
    form = _form(request, traits, server, can_force=can_force)
    if request.tools and not (form and request.reply_schema):
        *tools, last = definitions(request.tools, strict=traits.structured)
        body["tools"] = [*tools, last | cached]
        body["tool_choice"] = _choice(request, can_force=can_force)
    if thinking.parameter is not None:
        body["thinking"] = thinking.parameter
    if traits.sampling and not thinking.thinks and config.temperature not in (None, 1.0):
        body["temperature"] = config.temperature
    if output := ({"effort": thinking.effort} if thinking.effort else {}) | form:
        body["output_config"] = output
    if request.user:
        body["metadata"] = {"user_id": _user(request.user)}
    return MessagesRequest(body, _betas(body, traits, server))


def _betas(body: JsonObject, traits: AnthropicTraits, server: MessagesServer) -> tuple[str, ...]:
    thinking = body.get("thinking") or {}
    named = {
        BINDING_BETA: "block_binding" in thinking,
        INTERLEAVED_BETA: traits.interleaved and INTERLEAVED_BETA in server.betas and thinking.get("type") == "enabled",
    }
    return tuple(beta for beta, needed in named.items() if needed)


def _max_tokens(request: ModelRequest, traits: AnthropicTraits, thinking: Thinking) -> int:
    """The limit of the reply. It must be above the budget, because thinking is part of it."""
    limit = request.config.max_tokens or DEFAULT_MAX_TOKENS
    limit = limit if limit > thinking.budget else thinking.budget + ROOM
    return limit if traits.max_tokens is None else min(limit, traits.max_tokens)


def _form(request: ModelRequest, traits: AnthropicTraits, server: MessagesServer, *, can_force: bool) -> JsonObject:
    """The member `format` of `output_config`: the response format of the agent, or the schema of a single answer if no call can
    be forced. Raises: ModelBadRequest for a response format that the model does not have.
    """
    if request.reply_schema is not None:
        schema = output_schema(request.reply_schema) if traits.structured and not can_force else None
        return {"format": {"type": "json_schema", "schema": schema}} if schema is not None else {}
    response_format = request.config.response_format
    match response_format.type if response_format else "text":
        case "json_schema" if traits.structured and response_format is not None and response_format.type == "json_schema":
            json_schema = response_format.json_schema
            return {"format": {"type": "json_schema", "schema": with_closed_objects(json_schema.get("schema", json_schema))}}
        case "text":
            return {}
        case kind:
            raise ModelBadRequest(
                f"{server.name}: {request.config.model} has no response_format {kind!r}; use 'text'"
                + (", or 'json_schema' with a schema" if traits.structured else ", or a model with structured outputs")
            )


def _choice(request: ModelRequest, *, can_force: bool) -> JsonObject:
    """The tool choice. Where it cannot be forced, the rules of the agent refuse what does not fit.

    `any` and `tool` are refused while a model thinks ("Extended thinking", with tool use), and altogether by the newest ("What's
    new in Claude Opus 5.5"). The API has no way to name several tools that may be called.
    """
    alone: JsonObject = {} if request.parallel_tool_calls else {"disable_parallel_tool_use": True}
    if request.allowed is not None and not request.allowed:
        return {"type": "none"}
    match request.choice.mode:
        case "required" if can_force:
            return {"type": "any"} | alone
        case "named" if can_force:
            return {"type": "tool", "name": request.choice.name} | alone
        case "auto" | "required" | "named":
            return {"type": "auto"} | alone
        case "none":
            return {"type": "none"}
        case mode:
            assert_never(mode)


def _user(name: str) -> str:
    return name if _USER.fullmatch(name) else hashlib.sha256(name.encode(errors="replace")).hexdigest()
