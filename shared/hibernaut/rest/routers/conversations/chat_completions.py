"""Agents in OpenAI's Chat Completions format (Letta V1 API, API 3): `model` is the agent's id, the last user message is the
input.

A reply contains the agent's text, but neither its reasoning nor its tool calls.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Literal

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from hibernaut.rest import run_responses
from hibernaut.rest.dependencies import TheServices, TheThreadPools
from hibernaut.rest.http.async_bridge import ThreadPools, follow
from hibernaut.rest.http.streaming import DONE, MEDIA_TYPE
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.routers.conversations.messages import ThePrepare
from hibernaut.schemas.base import Json, JsonObject, Schema
from hibernaut.schemas.content import InputPart, TextContent
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.ids import creation_time, is_id
from hibernaut.schemas.messages.letta_message import AssistantMessage, LettaResponse
from hibernaut.schemas.runs.events import ErrorEvent, StopEvent
from hibernaut.schemas.runs.send import LettaStreamingRequest, MessageCreate
from hibernaut.schemas.stop import StopReason
from hibernaut.services.logs.run_follower import RunFollower
from hibernaut.services.logs.run_log import LoggedEvent, RunLog

router = APIRouter(prefix="/v1/chat", tags=["chat"], route_class=LazyRoute)


class ChatMessage(Schema):
    """A message in OpenAI's format. Earlier messages are ignored: the agent has its own log."""

    role: str = "user"
    content: str | list[JsonObject] | None = None


class ChatCompletionRequest(Schema):
    """A request in OpenAI's format. Other fields are accepted and have no effect: the agent has its own model and settings."""

    model: str
    messages: list[ChatMessage]
    stream: bool = False


class ChatChoice(Schema):
    """The agent's text."""

    index: int = 0
    message: JsonObject
    finish_reason: Literal["stop", "length"] = "stop"
    logprobs: Json = None


class ChatCompletion(Schema):
    """OpenAI's reply. Its id is that of the run."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice]
    usage: JsonObject


@router.post("/completions", response_model=ChatCompletion)
async def create_chat_completion(
    services: TheServices, pools: TheThreadPools, body: ChatCompletionRequest, prepared: ThePrepare
) -> Response:
    """Send the last user message to the agent that `model` names. The reply is in OpenAI's format, streamed or whole."""
    if not is_id(body.model, "agent"):
        raise InvalidArgument(f"INVALID_ARGUMENT: 'model' must be the id of an agent (agent-…), not '{body.model}'.")
    request = prepared(body.model, _request(body), "send_message_streaming" if body.stream else "send_message")
    if not body.stream:
        return await run_responses.whole(services, pools, request, partial(_completion, body.model))
    log, driving = await run_responses.followed(services, pools, request)
    chunks = run_responses.until_driven(_chunks(services.run_follower, pools, log, body.model), log, driving)
    return StreamingResponse(chunks, media_type=MEDIA_TYPE)


def _request(body: ChatCompletionRequest) -> LettaStreamingRequest:
    """The last user message as a request. Raises: InvalidArgument if there is none, or it has no text."""
    last = next((one for one in reversed(body.messages) if one.role == "user"), None)
    if last is None or not last.content:
        raise InvalidArgument("INVALID_ARGUMENT: At least one message must have the role 'user' and a content.")
    content: str | list[InputPart]
    if isinstance(last.content, str):
        content = last.content
    else:
        content = [TextContent(text=str(part.get("text", ""))) for part in last.content if part.get("type") == "text"]
    if not content:
        raise InvalidArgument("INVALID_ARGUMENT: The last message of the user holds no text.")
    return LettaStreamingRequest(messages=[MessageCreate(role="user", content=content)], stream_tokens=body.stream)


def _completion(agent_id: str, run_id: str, whole: LettaResponse) -> ChatCompletion:
    text = "".join(_text(message) for message in whole.messages if isinstance(message, AssistantMessage))
    usage = whole.usage
    return ChatCompletion(
        id=run_id,
        created=int(creation_time(run_id).timestamp()),
        model=agent_id,
        choices=[
            ChatChoice(
                message={"role": "assistant", "content": text, "refusal": None},
                finish_reason=_finish(whole.stop_reason.stop_reason),
            )
        ],
        usage={
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
        },
    )


async def _chunks(run_follower: RunFollower, pools: ThreadPools, log: RunLog, agent_id: str) -> AsyncIterator[str]:
    """The text of the run in chunks. If the run fails, the text so far is followed by the error."""
    yield _chunk(log.run_id, agent_id, {"role": "assistant", "content": ""})
    async for text in follow(run_follower, pools, log, partial(_new_chunks, log, agent_id)):
        yield text or ": \n\n"  # after a silence: a comment that keeps the connection open
    if log.at_end:
        yield DONE


def _new_chunks(log: RunLog, agent_id: str) -> list[str | None]:
    return [text for one in log.look() for text in _pieces(one, log.run_id, agent_id)]


def _pieces(one: LoggedEvent, run_id: str, agent_id: str) -> Iterator[str]:
    if isinstance(one.message, AssistantMessage):
        yield _chunk(run_id, agent_id, {"content": _text(one.message)})
    match one.event:
        case StopEvent(stop_reason=reason):
            yield _chunk(run_id, agent_id, {}, _finish(reason))
        case ErrorEvent():
            error: JsonObject = {"message": one.event.message, "type": one.event.error_type, "code": None, "param": None}
            yield f"data: {json.dumps({'error': error}, ensure_ascii=False)}\n\n"
        case _:
            pass


def _chunk(run_id: str, agent_id: str, delta: JsonObject, finish: str | None = None) -> str:
    chunk: JsonObject = {
        "id": run_id,
        "object": "chat.completion.chunk",
        "created": int(creation_time(run_id).timestamp()),
        "model": agent_id,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}],
    }
    return f"data: {json.dumps(chunk, ensure_ascii=False, separators=(',', ':'))}\n\n"


def _text(message: AssistantMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(part.text for part in message.content if isinstance(part, TextContent))


def _finish(reason: StopReason) -> Literal["stop", "length"]:
    return "length" if reason is StopReason.MAX_TOKENS_EXCEEDED else "stop"
