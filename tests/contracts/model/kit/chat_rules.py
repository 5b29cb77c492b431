"""Rules that all Chat Completions servers share: the order of messages and calls, and what belongs together."""

from __future__ import annotations

from collections.abc import Iterator

from tests.contracts.model.kit.chat_server import refusal
from tests.contracts.model.kit.rules import ErrorResponse, Rule, ServerMemory
from tests.support.provider_http import Recorded, Wire


def assistants(asked: Recorded) -> Iterator[tuple[int, Wire]]:
    """The assistant's messages with their numbers."""
    return ((at, message) for at, message in enumerate(asked.body["messages"]) if message["role"] == "assistant")


def tool_turns(asked: Recorded) -> Iterator[tuple[int, Wire]]:
    """The assistant's messages with calls."""
    return ((at, message) for at, message in assistants(asked) if message.get("tool_calls"))


def issued_with(call_id: str, memory: ServerMemory) -> Wire | None:
    """The message in which the server issued this call."""
    for message in memory.items():
        if any(call.get("id") == call_id for call in message.get("tool_calls") or ()):
            return message
    return None


def tool_messages_follow_their_calls(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    messages = asked.body["messages"]
    waiting: list[str] = []
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                text = (
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                )
                return refusal(text, param=f"messages.[{at}].role")
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            break
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    text = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    return (
        refusal(f"{text} The following tool_call_ids did not have response messages: {', '.join(waiting)}") if waiting else None
    )


def call_ids_are_unique(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for at, message in tool_turns(asked):
        ids = [call["id"] for call in message["tool_calls"]]
        if "" in ids or len(set(ids)) < len(ids):
            return refusal(f"Invalid 'messages[{at}].tool_calls': ids must be unique and not empty.")
    return None


def arguments_are_json_objects(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    import json

    for at, message in tool_turns(asked):
        for number, call in enumerate(message["tool_calls"]):
            try:
                fits = isinstance(json.loads(call["function"]["arguments"]), dict)
            except ValueError:
                fits = False
            if not fits:
                return refusal(f"Invalid 'messages[{at}].tool_calls[{number}].function.arguments': expected a JSON object.")
    return None


def choice_needs_tools(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    for name in ("tool_choice", "parallel_tool_calls"):
        if name in asked.body and not asked.body.get("tools"):
            return refusal(f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.", param=name)
    return None


def stream_options_need_a_stream(asked: Recorded, _: ServerMemory) -> ErrorResponse | None:
    if "stream_options" in asked.body and not asked.body.get("stream"):
        return refusal("The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options")
    return None


_REFERENCE = "platform.openai.com/docs/api-reference/chat/create"
CHAT_RULES = (
    Rule(
        "tool_messages_follow_their_calls",
        f"{_REFERENCE}; openai/types/chat/chat_completion_tool_message_param.py",
        tool_messages_follow_their_calls,
    ),
    Rule("call_ids_are_unique", "openai/types/chat/chat_completion_tool_message_param.py (tool_call_id)", call_ids_are_unique),
    Rule(
        "arguments_are_json_objects",
        "openai/types/chat/chat_completion_message_function_tool_call_param.py; vllm-project/vllm#43995; sgl-project/sglang#28035",
        arguments_are_json_objects,
    ),
    Rule("choice_needs_tools", "openai/types/chat/completion_create_params.py (tool_choice)", choice_needs_tools),
    Rule(
        "stream_options_need_a_stream",
        "openai/types/chat/completion_create_params.py (stream_options)",
        stream_options_need_a_stream,
    ),
)
