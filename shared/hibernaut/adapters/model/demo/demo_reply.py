"""Converts a step of the demo's script to a reply of the `Model` port: a legacy agent's format (`send_message`, heartbeats, a
forced tool), token counts, deltas.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable

from hibernaut.adapters.model.demo.demo_script import INTRODUCTION, SIGNATURE, DemoCall, DemoText, answer, minimal
from hibernaut.adapters.model.demo.demo_view import view
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, ModelToolCall, ToolSpec
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.usage import Usage

_CHARS_PER_TOKEN = 4
_WORD = re.compile(r"\S+\s*|\s+")


def scripted_reply(request: ModelRequest, on_delta: Callable[[Delta], None] | None) -> ModelReply:
    """The reply of the script. Never fails; an exception from `on_delta` propagates."""
    tools = {} if request.choice.mode == "none" else {tool.name: tool for tool in request.callable_tools}
    conversation = view(request, SIGNATURE)
    step = answer(conversation, tools)
    if isinstance(step, DemoText) and step.to_person and not conversation.introduced:
        step = DemoText(f"{INTRODUCTION}\n\n{step.text}")
    step = _as_the_agent_must(step, request, tools)
    text, calls = "", tuple[ModelToolCall, ...]()
    if isinstance(step, DemoText):
        text = step.text
    else:
        arguments = _with_extras(step, tools[step.tool])
        calls = (ModelToolCall(_call_id(request), step.tool, json.dumps(arguments, ensure_ascii=False)),)
    if on_delta is not None:
        _stream(text, calls, on_delta)
    used = _tokens(text) + sum(_tokens(call.name) + _tokens(call.arguments) for call in calls)
    return ModelReply(
        text=text,
        tool_calls=calls,
        finish_reason="tool_calls" if calls else "stop",
        usage=_usage(request, used),
        model="demo",
    )


def _as_the_agent_must(step: DemoText | DemoCall, request: ModelRequest, tools: dict[str, ToolSpec]) -> DemoText | DemoCall:
    """The step in the form that the request forces: a named tool, some tool, or `send_message` if the agent speaks by it."""
    words = step.text if isinstance(step, DemoText) else ""
    forced = request.choice.name if request.choice.mode == "named" else None
    if forced in tools and not (isinstance(step, DemoCall) and step.tool == forced):
        return DemoCall(forced, minimal(tools[forced], words))
    if isinstance(step, DemoCall):
        return step
    if "send_message" in tools:
        return DemoCall("send_message", minimal(tools["send_message"], words) | {"message": words})
    if request.choice.mode == "required" and tools:
        last = tools.get("memory_finish_edits") or next(iter(tools.values()))
        return DemoCall(last.name, minimal(last, words))
    return step


def _with_extras(step: DemoCall, tool: ToolSpec) -> JsonObject:
    """The arguments, with the additional ones of a legacy agent's tools: a thought, and the request for a heartbeat."""
    properties = tool.parameters.get("properties")
    extras: JsonObject = {}
    if isinstance(properties, dict) and "thinking" in properties:
        extras["thinking"] = f"The script says to call {step.tool}."
    if isinstance(properties, dict) and "request_heartbeat" in properties:
        extras["request_heartbeat"] = step.tool != "send_message"
    return step.arguments | extras


def _call_id(request: ModelRequest) -> str:
    last = request.messages[-1].id if request.messages else ""
    seed = f"{last}/{len(request.messages)}"
    return f"call_{hashlib.sha256(seed.encode(errors='replace')).hexdigest()[:24]}"


def _stream(text: str, calls: tuple[ModelToolCall, ...], on_delta: Callable[[Delta], None]) -> None:
    for word in _WORD.findall(text):
        on_delta(Delta("text", word))
    for index, call in enumerate(calls):
        on_delta(Delta("tool_name", call.name, index, call.id))
        for word in _WORD.findall(call.arguments):
            on_delta(Delta("tool_arguments", word, index, call.id))


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARS_PER_TOKEN)


def _usage(request: ModelRequest, completion: int) -> Usage:
    prompt = _tokens(request.system) + sum(_tokens(row.text()) for row in request.messages)
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)
