"""Parses responses of OpenAI's Responses API, whole or streamed, into our replies. Validates all input; knows no connection.

A stream contains the items of a reply as they grow, then each complete item; the last event contains the outcome. The reply
consists of the passed-on pieces; a complete item only adds parts that its pieces did not contain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hibernaut.adapters.model.openai.responses_items import ResponseItem, as_native
from hibernaut.adapters.model.token_logprobs import as_logprobs
from hibernaut.adapters.model.wire.json_fields import count_of, text_of
from hibernaut.adapters.model.wire.provider_errors import model_error, read_refusal
from hibernaut.ports.model import Delta, ModelReply
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection, ModelError
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.model_call import Exchange, FinishReason
from hibernaut.schemas.usage import Usage

_INCOMPLETE: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "refusal"}
_STATUS_OF_CODE = {"": 500, "server_error": 500, "vector_store_timeout": 504, "rate_limit_exceeded": 429}
"""The status that an error inside a 200 would have had; the other codes blame the request (types/responses/response_error.py)."""
_PIECES = {
    "response.output_text.delta": ("output_text", "content_index"),
    "response.refusal.delta": ("refusal", "content_index"),
    "response.reasoning_summary_text.delta": ("summary_text", "summary_index"),
    "response.reasoning_text.delta": ("reasoning_text", "content_index"),
    "response.function_call_arguments.delta": ("arguments", ""),
}


@immutable
class SentRequest:
    """What a reply answers: the provider, the model by its name in the request, and the body."""

    provider: str
    model: str
    sent: JsonObject


@dataclass(slots=True)
class _ResponsesReply:
    """The reply received so far: its items by their place, in the order in which they began."""

    request: SentRequest
    say: Callable[[Delta], None] | None = None
    items: dict[Json, ResponseItem] = field(default_factory=dict)
    response: JsonObject = field(default_factory=dict)
    ended: bool = False

    def invalid(self, what: str) -> InvalidModelResponse:
        return InvalidModelResponse(f"{self.request.provider}: {what}")

    def failed(self, error: Json) -> ModelError:
        """The error of a response that failed. Its code takes the place of a status."""
        code = text_of(error, "code")
        return model_error(read_refusal(self.request.provider, _STATUS_OF_CODE.get(code, 400), error, {}))

    def take_event(self, event: JsonObject) -> None:
        """Add an event of a stream. Unknown ones are additions of later API versions, or of tools that are not ours."""
        kind = event.get("type")
        match kind:
            case "response.created" | "response.in_progress" | "response.queued":
                self._take_head(event.get("response"))
            case "response.output_item.added":
                self._open(event.get("output_index"), event.get("item"))
            case "response.output_item.done":
                self._close(event.get("output_index"), event.get("item"))
            case "response.function_call_arguments.done":
                self._at(event).complete("arguments", 0, text_of(event, "arguments"))
            case "response.completed" | "response.incomplete" | "response.failed":
                self.end(event.get("response"))
            case "error":
                raise self.failed(event.get("error") or event)
            case None if event.get("error"):
                raise self.failed(event["error"])
            case _ if kind in _PIECES:
                name, index = _PIECES[kind]
                self._at(event).grow(name, event.get(index), text_of(event, "delta"))
            case _:
                pass

    def end(self, response: Json) -> None:
        """Take the whole response, or the one that ends a stream. Items that a stream did not tell are in its output."""
        self._take_head(response)
        if self.response.get("status") == "failed" or self.response.get("error"):
            raise self.failed(self.response.get("error"))
        output = self.response.get("output")
        if not isinstance(output, list):
            raise self.invalid("the answer holds no output")
        if not self.items:
            for place, item in enumerate(output):
                self._close(place, item)
        self.ended = True

    def _take_head(self, response: Json) -> None:
        if not isinstance(response, dict):
            raise self.invalid("the answer holds no response")
        self.response = response

    def _open(self, place: Json, item: Json) -> ResponseItem:
        if not isinstance(item, dict) or not isinstance(place, int) or not isinstance(item.get("type"), str):
            raise self.invalid("an output item is not one")
        numbers = sum(1 for each in self.items.values() if each.kind == "function_call")
        texts = any(each.kind == "message" and each.parts for each in self.items.values())
        opened = ResponseItem(item["type"], self.say, number=numbers, follows=texts)
        self.items[place] = opened
        opened.take(item)
        return opened

    def _close(self, place: Json, item: Json) -> None:
        opened = self.items.get(place) or self._open(place, item)
        if not isinstance(item, dict) or item.get("type") != opened.kind:
            raise self.invalid("an output item is not one")
        opened.take(item)

    def _at(self, event: JsonObject) -> ResponseItem:
        place = event.get("output_index")
        if not isinstance(place, int) or place not in self.items:
            raise self.invalid("a piece belongs to no output item")
        return self.items[place]

    def reply(self, request_id: str | None) -> ModelReply:
        """The complete reply. Raises: InvalidModelResponse for an empty reply, or a call without a name."""
        response, items = self.response, list(self.items.values())
        calls = tuple(call for each in items if (call := each.call()) is not None)
        if any(not call.id or not call.name for call in calls):
            raise self.invalid("a tool call without an id or a name")
        text = "".join(each.spaced_text for each in items)
        finish = self._finish(calls=bool(calls))
        if not text and not calls and finish in ("stop", "tool_calls", "other"):
            raise self.invalid("the reply is empty")
        body = response | {"output": [each.item for each in items]}
        return ModelReply(
            text=text,
            reasoning=tuple(part for each in items if (part := each.thought()) is not None),
            tool_calls=calls,
            finish_reason=finish,
            usage=_usage(response.get("usage")),
            model=text_of(response, "model"),
            request_id=request_id or text_of(response, "id") or None,
            logprobs=as_logprobs([token for each in items for token in each.tokens()], []),
            native=as_native(items, provider=self.request.provider, model=self.request.model),
            exchange=Exchange(self.request.sent, body),
        )

    def _finish(self, *, calls: bool) -> FinishReason:
        status, refused = self.response.get("status"), any(each.refused for each in self.items.values())
        finish: FinishReason = "stop"
        if status == "incomplete":
            finish = _INCOMPLETE.get(text_of(self.response.get("incomplete_details"), "reason"), "other")
        elif status not in ("completed", None):
            finish = "other"
        if refused:
            return "refusal"
        return "tool_calls" if calls and finish in ("stop", "other") else finish


def whole(request: SentRequest, body: JsonObject, request_id: str | None) -> ModelReply:
    """The reply in a body. Raises: InvalidModelResponse; the error in the body."""
    gathered = _ResponsesReply(request)
    gathered.end(body)
    return gathered.reply(request_id)


def streamed(
    request: SentRequest, events: Iterable[JsonObject], say: Callable[[Delta], None], request_id: str | None
) -> ModelReply:
    """The reply of all events. Each piece is passed on as it arrives. Raises: as `whole`; ModelConnection for a stream that ends
    before its reply."""
    gathered = _ResponsesReply(request, say)
    for event in events:
        gathered.take_event(event)
        if gathered.ended:
            return gathered.reply(request_id)
    if gathered.response or gathered.items:
        raise ModelConnection(f"{request.provider}: the reply was cut off")
    raise gathered.invalid("the stream holds no reply")


def _usage(used: Json) -> Usage:
    if not isinstance(used, dict):
        return Usage()
    of_input, of_output = used.get("input_tokens_details"), used.get("output_tokens_details")
    prompt, completion = count_of(used, "input_tokens") or 0, count_of(used, "output_tokens") or 0
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=count_of(used, "total_tokens") or prompt + completion,
        cached_input_tokens=count_of(of_input, "cached_tokens"),
        cache_write_tokens=count_of(of_input, "cache_write_tokens"),
        reasoning_tokens=count_of(of_output, "reasoning_tokens"),
    )
