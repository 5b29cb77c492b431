"""Strategies for property tests: replies of a model, and failures of its provider. Most replies are sensible, so that runs
advance.
"""

from __future__ import annotations

import json

from hypothesis import strategies as st

from hibernaut.ports.model import ModelReply, ModelToolCall
from hibernaut.schemas.content import ReasoningContent
from hibernaut.schemas.errors import (
    ContextWindowExceeded,
    InvalidModelResponse,
    ModelAuthentication,
    ModelBadRequest,
    ModelConnection,
    ModelCredits,
    ModelError,
    ModelOverloaded,
    ModelRateLimit,
    ModelTimeout,
)
from tests.support.scripted_model import USAGE

TOOLS = (
    "memory_insert",
    "memory_replace",
    "core_memory_append",
    "archival_memory_insert",
    "conversation_search",
    "send_message",
    "ring",
)
"""The tools of the agents in these tests."""

WORDS = st.sampled_from(["", "Ann", "Oslo", "likes tea", "Zoë \U0001f600", "\x00", "\ud800", "a\nb"])
_FIELDS = {
    "memory_insert": ("label", "new_string"),
    "memory_replace": ("label", "old_string", "new_string"),
    "core_memory_append": ("label", "content"),
    "archival_memory_insert": ("content",),
    "conversation_search": ("query",),
    "send_message": ("message",),
    "ring": ("x",),
}


@st.composite
def sensible_arguments(draw: st.DrawFn, name: str) -> str:
    values: dict[str, object] = {field: draw(WORDS) for field in _FIELDS.get(name, ())}
    if "label" in values:
        values["label"] = draw(st.sampled_from(["human", "human", "human", "nobody"]))
    if draw(st.booleans()):
        values["request_heartbeat"] = draw(st.sampled_from([True, False, "true", "no", None]))
    return json.dumps(values, ensure_ascii=draw(st.booleans()))


BROKEN = st.sampled_from(
    ["", "{", "[]", "null", '"{}"', '{"label": NaN}', '{"a": 1}{"b": 2}', '{"label": "human"', "\ud800", "[" * 2000]
)


@st.composite
def tool_calls(draw: st.DrawFn) -> ModelToolCall:
    name = draw(st.sampled_from([*TOOLS, *TOOLS, "unknown_tool", "", "\ud83d", "Ring"]))
    arguments = draw(st.one_of(sensible_arguments(name), sensible_arguments(name), BROKEN))
    identity = draw(st.sampled_from(["", "call-1", "call-2", "call-3", "x" * 3000, "#", "\udfff"]))
    return ModelToolCall(identity, name, arguments)


@st.composite
def replies(draw: st.DrawFn) -> ModelReply:
    made = tuple(draw(st.lists(tool_calls(), max_size=4)))
    reasoning = (ReasoningContent(reasoning=draw(WORDS)),) if draw(st.booleans()) else ()
    ended = draw(st.sampled_from(["stop", "stop", "tool_calls", "length", "refusal", "other"]))
    return ModelReply(text=draw(WORDS), reasoning=reasoning, tool_calls=made, finish_reason=ended, usage=USAGE)


FAILURES = st.sampled_from(
    [
        ModelError("failed"),
        ModelConnection("no connection"),
        ModelRateLimit("slower", retry_after=2.0),
        ModelRateLimit("much slower", retry_after=3600.0),
        ModelOverloaded("busy"),
        ModelTimeout("late"),
        ModelAuthentication("no key"),
        ModelCredits("no money"),
        ModelBadRequest("no"),
        ContextWindowExceeded("too long"),
        InvalidModelResponse("empty"),
    ]
)

ANSWERS = st.one_of(replies(), replies(), replies(), FAILURES)
"""The outcome of one model call: a reply or an error."""
