"""Parses responses of Gemini's `generateContent`, whole or streamed, into our replies. Validates all input. Knows no connection.

Sources: the REST reference of `GenerateContentResponse`, and the documentation of thought signatures: a signature stands on the
part that it came with, and parts with a signature are never joined with others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import zip_longest

from hibernaut.adapters.model.token_logprobs import as_logprobs, tokens
from hibernaut.adapters.model.wire.json_fields import as_list, count_of, text_of
from hibernaut.adapters.model.wire.provider_errors import model_error, read_refusal
from hibernaut.ports.model import Delta, ModelReply, ModelToolCall
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.content import ReasoningContent
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection
from hibernaut.schemas.messages.native import NativeReply
from hibernaut.schemas.models.model_call import Exchange, FinishReason
from hibernaut.schemas.usage import Usage

_FINISH: dict[str, FinishReason] = {"STOP": "stop", "MAX_TOKENS": "length"}
_REFUSALS = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"})
_FAULTY = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"})


@dataclass(slots=True)
class _GeminiReply:
    """The parts received so far, as they are sent back. `say` receives each piece."""

    provider: str
    model: str
    say: Callable[[Delta], None] | None = None
    parts: list[JsonObject] = field(default_factory=list)
    calls: list[ModelToolCall] = field(default_factory=list)
    finish: str | None = None
    blocked: str = ""
    used: JsonObject = field(default_factory=dict)
    version: str = ""
    answer_id: str = ""
    tokens: list[Json] = field(default_factory=list)

    def invalid(self, what: str) -> InvalidModelResponse:
        return InvalidModelResponse(f"{self.provider}: {what}")

    def take(self, body: JsonObject) -> None:
        """Add a whole response, or a chunk of one."""
        if body.get("error"):
            raise model_error(read_refusal(self.provider, 200, body, {}))
        self.version = text_of(body, "modelVersion") or self.version
        self.answer_id = text_of(body, "responseId") or self.answer_id
        if isinstance(used := body.get("usageMetadata"), dict):
            self.used |= used
        if isinstance(feedback := body.get("promptFeedback"), dict):
            self.blocked = text_of(feedback, "blockReason") or self.blocked
        for candidate in as_list(body.get("candidates"))[:1]:
            if not isinstance(candidate, dict):
                raise self.invalid("a candidate is not one")
            content = candidate.get("content")
            for part in as_list(content.get("parts")) if isinstance(content, dict) else []:
                self._take_part(part)
            self.finish = text_of(candidate, "finishReason") or self.finish
            self.tokens += _tokens(candidate.get("logprobsResult"))

    def _take_part(self, part: Json) -> None:
        if not isinstance(part, dict):
            raise self.invalid("a part is not one")
        if isinstance(call := part.get("functionCall"), dict):
            self._take_call(call)
            self.parts.append(part)
            return
        if isinstance(text := part.get("text"), str):
            self._tell(Delta("reasoning" if part.get("thought") is True else "text", text))
            last = self.parts[-1] if self.parts else {}
            joins = {"text", "thought"}
            if last.keys() <= joins and part.keys() <= joins and "text" in last and last.get("thought") == part.get("thought"):
                self.parts[-1] = last | {"text": last["text"] + text}
                return
        self.parts.append(part)

    def _take_call(self, call: JsonObject) -> None:
        name, values = text_of(call, "name"), call.get("args")
        if not name:
            raise self.invalid("a function call without a name")
        at = len(self.calls)
        call_id = text_of(call, "id") or self._derived_id(at)
        arguments = json.dumps(values if isinstance(values, dict) else {}, ensure_ascii=False)
        self.calls.append(ModelToolCall(call_id, name, arguments))
        self._tell(Delta("tool_name", name, at, call_id))
        self._tell(Delta("tool_arguments", arguments, at, call_id))

    def _derived_id(self, at: int) -> str:
        """An id for a call without one: ids are optional, and responses are matched by their order."""
        seed = f"{self.answer_id}/{at}/{json.dumps(self.parts, sort_keys=True)}"
        return f"call_{hashlib.sha256(seed.encode(errors='replace')).hexdigest()[:24]}"

    def _tell(self, delta: Delta) -> None:
        if self.say is not None and delta.text:
            self.say(delta)

    def body(self) -> JsonObject:
        """The chunks of a stream, put together as the whole response."""
        candidate: JsonObject = {"content": {"role": "model", "parts": self.parts}, "finishReason": self.finish}
        return {
            "candidates": [candidate], "usageMetadata": self.used, "modelVersion": self.version, "responseId": self.answer_id
        }  # fmt: skip

    def reply(self, exchange: Exchange) -> ModelReply:
        """The complete reply. Raises: InvalidModelResponse for an empty reply, or an invalid call."""
        if self.finish in _FAULTY:
            raise self.invalid(f"the model made a call that cannot be read ({self.finish})")
        refused = bool(self.blocked) or self.finish in _REFUSALS
        finish: FinishReason = "refusal" if refused else _FINISH.get(self.finish or "", "other")
        text_parts = [part for part in self.parts if isinstance(part.get("text"), str)]
        text = "".join(part["text"] for part in text_parts if part.get("thought") is not True)
        thought = "".join(part["text"] for part in text_parts if part.get("thought") is True)
        if not text and not self.calls and finish in ("stop", "other"):
            raise self.invalid("the reply is empty")
        return ModelReply(
            text=text,
            reasoning=(ReasoningContent(reasoning=thought),) if thought else (),
            tool_calls=tuple(self.calls),
            finish_reason="tool_calls" if self.calls and finish in ("stop", "other") else finish,
            usage=_usage(self.used),
            model=self.version or self.model,
            request_id=self.answer_id or None,
            native=self._native(),
            logprobs=as_logprobs(self.tokens, []),
            exchange=exchange,
        )

    def _native(self) -> NativeReply:
        calls = [call.id for call in self.calls]
        return NativeReply(wire="gemini", provider=self.provider, model=self.model, items=self.parts, calls=calls)


def _tokens(found: Json) -> list[Json]:
    """The log probabilities of a candidate (ai.google.dev/api/generate-content, `LogprobsResult`) in the form of Chat
    Completions.
    """
    if not isinstance(found, dict):
        return []
    steps = as_list(found.get("topCandidates"))
    return tokens(
        [
            _token(chosen)
            | {"top_logprobs": [_token(each) for each in as_list(step.get("candidates"))] if isinstance(step, dict) else []}
            for chosen, step in zip_longest(as_list(found.get("chosenCandidates")), steps)
            if chosen is not None
        ]
    )


def _token(found: Json) -> JsonObject:
    return {"token": found.get("token"), "logprob": found.get("logProbability")} if isinstance(found, dict) else {}


def whole(provider: str, model: str, body: JsonObject, *, sent: JsonObject) -> ModelReply:
    """The reply in a body, the answer to what was `sent`. Raises: InvalidModelResponse; the error that the body tells of."""
    gathered = _GeminiReply(provider, model)
    gathered.take(body)
    if not body.get("candidates") and not gathered.blocked:
        raise gathered.invalid("the answer holds no candidate")
    return gathered.reply(Exchange(sent, body))


def streamed(
    provider: str, model: str, chunks: Iterable[JsonObject], say: Callable[[Delta], None], *, sent: JsonObject
) -> ModelReply:
    """The reply that the chunks make up, each piece passed on as it comes. Raises: as `whole`; ModelConnection for a stream that
    ends before its reply does."""
    gathered = _GeminiReply(provider, model, say)
    for chunk in chunks:
        gathered.take(chunk)
    if gathered.finish is None and not gathered.blocked:
        if gathered.parts:
            raise ModelConnection(f"{provider}: the reply was cut off")
        raise gathered.invalid("the stream holds no reply")
    return gathered.reply(Exchange(sent, gathered.body()))


def _usage(used: JsonObject) -> Usage:
    """The usage. Cached tokens are part of the prompt's; thoughts are counted beside the candidate's tokens."""
    prompt = (count_of(used, "promptTokenCount") or 0) + (count_of(used, "toolUsePromptTokenCount") or 0)
    thoughts = count_of(used, "thoughtsTokenCount")
    completion = (count_of(used, "candidatesTokenCount") or 0) + (thoughts or 0)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=count_of(used, "totalTokenCount") or prompt + completion,
        cached_input_tokens=count_of(used, "cachedContentTokenCount"),
        reasoning_tokens=thoughts,
    )
