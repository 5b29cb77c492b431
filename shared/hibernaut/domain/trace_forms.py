"""The form of a provider's bodies without what anybody wrote in them, for redacted traces.

A text is kept only at a position where a wire has a type, an id or a name of its own; everywhere else its length replaces it.
Knows the positions of the wires that the adapters speak, and nothing of the values.
"""

from __future__ import annotations

import re
from typing import Literal

from hibernaut.schemas.base import Json, JsonObject

_Kind = Literal["wire", "schema", "free"]
"""How an object is read: by the positions of a wire, as a JSON Schema, or as one that somebody filled with any keys."""
_ITEMS = ("content", "input", "output")
_POSITIONS: dict[str, frozenset[str]] = {
    "call_id": frozenset(_ITEMS),
    "finish_reason": frozenset({"", "choices"}),
    "finishReason": frozenset({"candidates"}),
    "format": frozenset({"document", "image"}),
    "id": frozenset({"", "functionCall", "functionResponse", "tool_calls", *_ITEMS}),
    "model": frozenset({""}),
    "modelVersion": frozenset({""}),
    "name": frozenset(
        {"format", "function", "functionCall", "functionDeclarations", "functionResponse", "json_schema", "tool", "tool_calls",
         "tool_choice", "toolSpec", "tools", "toolUse", *_ITEMS}
    ),
    "object": frozenset({""}),
    "role": frozenset({"", "contents", "message", "messages", *_ITEMS}),
    "service_tier": frozenset({"", "usage"}),
    "stop_reason": frozenset({""}),
    "stopReason": frozenset({""}),
    "tool_call_id": frozenset({"messages"}),
    "tool_choice": frozenset({""}),
    "tool_use_id": frozenset({"content"}),
    "toolUseId": frozenset({"toolResult", "toolUse"}),
    "type": frozenset(
        {"", "cache_control", "error", "format", "message", "messages", "output_config", "reasoning", "response_format", "source",
         "summary", "system", "thinking", "tool_calls", "tool_choice", "tools", *_ITEMS}
    ),
}  # fmt: skip
"""The members whose texts are types, ids and names of the wire, each with the members that may hold it. "": the body itself. A
list stands for its elements.
"""
_CALL_TYPES = frozenset({"function", "function_call", "tool_use"})
"""The types of items whose `name` is that of a tool; other items have the names of people."""
_FREE = frozenset(
    {"args", "arguments", "const", "default", "enum", "example", "examples", "input", "json", "metadata", "response"}
)
"""Members that hold arguments, results of tools or values, wherever they stand but at the positions below."""
_SCHEMAS = frozenset(
    {"inputSchema", "input_schema", "output_schema", "parameters", "parametersJsonSchema", "responseJsonSchema", "responseSchema",
     "schema"}
)  # fmt: skip
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_WORD = re.compile(r"[A-Za-z0-9_.:/@+$-]{1,200}")
"""What a type, an id or a name is made of, and the key of a wire: one word, in ASCII."""


def without_words(body: JsonObject) -> JsonObject:
    """A body of an exchange in which each text that somebody may have written is its length: `<12 characters>`. Below arguments
    and results of tools the names of members are replaced too. Numbers stay, except for those that spell a token.
    """
    return _object(body, "", "wire")


def _object(value: JsonObject, place: str, kind: _Kind) -> JsonObject:
    """The object at a place: the name of the member that holds it."""
    shown: JsonObject = {}
    for key, member in value.items():
        name = key if kind != "free" and _WORD.fullmatch(key) else _unused(_length(key), shown)
        shown[name] = _text(value, key, member, place, kind) if isinstance(member, str) else _member(key, member, place, kind)
    return shown


def _member(key: str, member: Json, place: str, kind: _Kind) -> Json:
    inner = _kind_of(key, place, kind)
    if key == "bytes" and kind == "wire":  # the characters of a token, as numbers
        return None
    return _walked(member, "" if key == "body" and not place else key, inner)


def _walked(value: Json, place: str, kind: _Kind) -> Json:
    match value:
        case str():
            return _length(value)
        case list() | tuple():
            return [_walked(each, place, kind) for each in value]
        case dict():
            return _object(value, place, kind)
        case _:
            return value


def _kind_of(key: str, place: str, kind: _Kind) -> _Kind:
    """How the value of a member is read."""
    if kind == "free" or (key == "input" and not place and kind == "wire"):
        return kind
    if key in _SCHEMAS or (key == "json" and place == "inputSchema"):
        return "schema"
    return "free" if key in _FREE else kind


def _text(holder: JsonObject, key: str, text: str, place: str, kind: _Kind) -> str:
    if kind == "schema":
        return text if key == "type" and text.lower() in _TYPES else _length(text)
    named = key != "name" or place not in _ITEMS or holder.get("type") in _CALL_TYPES
    is_form = kind == "wire" and place in _POSITIONS.get(key, ()) and named and _WORD.fullmatch(text)
    return text if is_form else _length(text)


def _length(text: str) -> str:
    return f"<{len(text)} characters>"


def _unused(name: str, taken: JsonObject) -> str:
    """The name, with a number if a member has it already."""
    return name if name not in taken else next(each for n in range(2, len(taken) + 3) if (each := f"{name} {n}") not in taken)
