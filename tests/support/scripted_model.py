"""A scripted model and a scripted tool runner, which record their calls.

Knows the ports. Must not know runs, steps or the table.
"""

# ruff: noqa: ARG002  a double has the parameters of its port

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hibernaut.domain.models.embedding_models import offered
from hibernaut.ports.model import Delta, Model, ModelReply, ModelRequest, ModelToolCall, OnOpen
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.models.llm_config import EmbeddingConfig, EmbeddingModelDescription, LLMConfig, ModelDescription
from hibernaut.schemas.usage import Usage

USAGE = Usage(prompt_tokens=10, completion_tokens=5, total_tokens=15)


@dataclass(frozen=True)
class Streamed:
    """A reply that is streamed in these pieces. `before` is called with the number of each piece, from 1. At the end it returns
    or fails.
    """

    deltas: Sequence[Delta]
    end: ModelReply | Exception
    before: Callable[[int], None] = lambda _: None


Script = Callable[[ModelRequest, int], ModelReply | Streamed]
"""The answer of the model to a request, which has a number (from 1). An exception is a failure of the provider."""


def says(text: str, **fields: Any) -> ModelReply:
    return ModelReply(text=text, usage=USAGE, **fields)


def calls(*made: tuple[str, Mapping[str, object]], text: str = "") -> ModelReply:
    """A reply with these calls, each with a unique id."""
    tool_calls = tuple(
        ModelToolCall(f"call-{place}-{name}", name, json.dumps(arguments)) for place, (name, arguments) in enumerate(made)
    )
    return ModelReply(text=text, tool_calls=tool_calls, finish_reason="tool_calls", usage=USAGE)


def in_pieces(reply: ModelReply, size: int = 7) -> list[Delta]:
    """The reply as a stream of deltas."""
    thoughts = "".join(part.reasoning for part in reply.reasoning if part.type == "reasoning")
    told = [Delta("reasoning", piece) for piece in _cut(thoughts, size)] + [
        Delta("text", piece) for piece in _cut(reply.text, size)
    ]
    for place, call in enumerate(reply.tool_calls):
        told.append(Delta("tool_name", call.name, place, call.id))
        told += [Delta("tool_arguments", piece, place, call.id) for piece in _cut(call.arguments, size)]
    return told


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def fresh(error: Exception) -> Exception:
    """A copy to be raised. An exception keeps what all frames on its way held: one that scripts raise again and again would keep
    worlds with their files.
    """
    made = type(error).__new__(type(error), *error.args)
    vars(made).update(vars(error))
    return made


def in_turn(*replies: ModelReply | Streamed | Exception) -> Script:
    """A script of these replies in their order, over all runs. The last one is repeated."""

    def script(request: ModelRequest, number: int) -> ModelReply | Streamed:
        reply = replies[min(number, len(replies)) - 1]
        if isinstance(reply, Exception):
            raise fresh(reply)
        return reply

    return script


def nothing(place: str) -> None:
    """Ignores the call."""


@dataclass
class ScriptedModels:
    """The port `Models` and its only provider. `at` is called before and after each call; its exceptions go to the caller.

    If the caller streams, the reply arrives in pieces. `broken_off` is set when a caller cancels a call.
    """

    script: Script
    context_window: int = 100_000
    parallel: bool = True
    at: Callable[[str], None] = nothing
    requests: list[ModelRequest] = field(default_factory=list)
    broken_off: threading.Event = field(default_factory=threading.Event)

    def of(self, config: LLMConfig) -> Model:
        return self

    def config(self, handle: str) -> LLMConfig:
        return LLMConfig(
            model=handle.partition("/")[2],
            model_endpoint_type="openai",
            handle=handle,
            context_window=self.context_window,
            parallel_tool_calls=self.parallel,
        )

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        self.at("before model")
        self.requests.append(request)
        if on_open is not None:
            on_open(self.broken_off.set)
        said = self.script(request, len(self.requests))
        streamed = said if isinstance(said, Streamed) else Streamed(in_pieces(said), said)
        for number, delta in enumerate(streamed.deltas, 1):
            streamed.before(number)
            if on_delta is not None:
                on_delta(delta)
        if isinstance(streamed.end, Exception):
            raise fresh(streamed.end)
        self.at("after model")
        return streamed.end

    def payload(self, request: ModelRequest) -> JsonObject:
        from hibernaut.adapters.model.dialects import ANY
        from hibernaut.adapters.model.openai.openai_messages import payload

        return payload(request, ANY, "scripted")

    def models(self) -> list[ModelDescription]:
        return []

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        return []

    def list_embeddings(self) -> list[EmbeddingModelDescription]:
        return []

    def embedding(self, handle: str) -> EmbeddingConfig:
        return offered(handle, self.list_embeddings())

    def list(self) -> list[ModelDescription]:
        return []

    def default_handle(self) -> str:
        return "test/scripted"

    def default_embedding_handle(self) -> str | None:
        return None

    def providers(self) -> Mapping[str, str]:
        return {"test": "in this process"}


def echo(job: ToolJob) -> ToolOutcome:
    return ToolOutcome("success", f"did {job.name}")


@dataclass
class ScriptedRunner:
    """A tool runner that executes `does`. `effects`: the calls that were made, in their order."""

    does: Callable[[ToolJob], ToolOutcome] = echo
    at: Callable[[str], None] = nothing
    effects: list[tuple[str, JsonObject]] = field(default_factory=list)

    def refusal(self, source_type: str | None) -> None:
        return None

    def run(self, job: ToolJob) -> ToolOutcome:
        self.at("before tool")
        self.effects.append((job.name, job.args))
        outcome = self.does(job)
        self.at("after tool")
        return outcome


def serialized(models: ScriptedModels, requests: Sequence[ModelRequest]) -> list[str]:
    """The messages of each request in the wire format of Chat Completions, one JSON text for each request."""
    return [json.dumps(models.payload(request)["messages"], ensure_ascii=False) for request in requests]
