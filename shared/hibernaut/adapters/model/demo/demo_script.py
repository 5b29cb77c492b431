"""The script of the demo model: pure functions from its view of a request to a reply or a tool call.

Knows the names and arguments of tools (RT 5.2 and 5.3); knows neither wire formats nor message rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from hibernaut.adapters.model.demo.demo_view import DemoView, ReturnedCall, SeenBlock, read_object
from hibernaut.adapters.model.demo.demo_words import Wish, fact, matching, wish
from hibernaut.ports.model import ToolSpec
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable

SIGNATURE = "small built-in demo model"
INTRODUCTION = (
    f"I am Hibernaut's {SIGNATURE}: a script that needs no key and no network, not a language model. For real answers set "
    "OPENAI_API_KEY (or OPENAI_BASE_URL for a compatible server) or ANTHROPIC_API_KEY, restart, and create an agent with that "
    "provider's model, for example `openai/gpt-5.4-mini`."
)

_CUSTOM = re.compile(
    r"\b(?:call|use|run)\s+(?:the\s+)?(?:tool\s+)?[`'\"]?(?P<name>[A-Za-z_]\w*+)[`'\"]?(?:\s+tool)?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_PAIR = re.compile(r"(\w+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s,]+)")
_WITH = re.compile(r"^\s*(?:with|on|for|:)\s+", re.IGNORECASE)
_CLIP = 600


@immutable
class DemoText:
    """A text reply. `to_person`: it belongs to the conversation, unlike a summary."""

    text: str
    to_person: bool = True


@immutable
class DemoCall:
    """A tool call."""

    tool: str
    arguments: JsonObject


def answer(conversation: DemoView, tools: Mapping[str, ToolSpec]) -> DemoText | DemoCall:
    """One step: the result of the calls since the person's last message, or else the action that the message requests."""
    done = [each for each in conversation.done if each.tool != "send_message"]
    if conversation.notice and (demanded := _demanded(conversation, tools)):
        return demanded
    if done:
        return DemoText(_outcome(done[-1], conversation))
    if conversation.done:
        return DemoText("That was all.")
    if custom := _custom(conversation.user_text, tools):
        return custom
    if "<start_transcript>" in conversation.user_text:
        return DemoText(_summary(conversation.user_text), to_person=False)
    return _wished(wish(conversation.user_text), conversation, tools)


def minimal(tool: ToolSpec, words: str = "") -> JsonObject:
    """The smallest arguments that match the tool's schema; `words` is the value for strings."""
    properties = tool.parameters.get("properties")
    required = tool.parameters.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return {}
    return {name: _smallest(properties.get(name), words) for name in required if isinstance(name, str)}


def _smallest(schema: Json, words: str) -> Json:
    if not isinstance(schema, dict):
        return words
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0]
    kind = schema.get("type")
    blanks: dict[str, Json] = {
        "string": words,
        "integer": 0,
        "number": 0,
        "boolean": False,
        "array": [],
        "object": {},
        "null": None,
    }
    first = next((each for each in kind if isinstance(each, str)), "") if isinstance(kind, list) else kind
    return blanks.get(first, words) if isinstance(first, str) else words


def _demanded(conversation: DemoView, tools: Mapping[str, ToolSpec]) -> DemoCall | None:
    """The tools that a heartbeat requires (RT 14.3), except those that were already called."""
    called = {each.tool for each in conversation.done}
    reason = read_object(conversation.notice).get("reason")
    named = set(re.findall(r"\w+", reason)) if isinstance(reason, str) else set()
    candidates = (tool for name, tool in tools.items() if name in named and name not in called and name != "send_message")
    return next((DemoCall(tool.name, minimal(tool)) for tool in candidates), None)


def _custom(message: str, tools: Mapping[str, ToolSpec]) -> DemoCall | None:
    for found in _CUSTOM.finditer(message):
        tool = tools.get(found["name"])
        if tool is not None and tool.name != "send_message":
            return DemoCall(tool.name, _custom_arguments(tool, _WITH.sub("", found["rest"]).strip()))
    return None


def _custom_arguments(tool: ToolSpec, rest: str) -> JsonObject:
    if "{" in rest:
        try:
            value, _ = json.JSONDecoder().raw_decode(rest[rest.index("{") :])
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}
    if pairs := _PAIR.findall(rest):
        return {name: value.strip("\"'") for name, value in pairs}
    return minimal(tool, rest)


def _wished(request: Wish, conversation: DemoView, tools: Mapping[str, ToolSpec]) -> DemoText | DemoCall:
    match request.kind:
        case "remember":
            return _remember(request.about, conversation, tools)
        case "forget":
            return _forget(request.about, conversation, tools)
        case "recall":
            return DemoText(_recollection(request.about, conversation))
        case "search":
            return _lookup("conversation_search", "query", request.about, tools)
        case "archive":
            return _lookup("archival_memory_insert", "content", request.about, tools)
        case "look_up":
            return _lookup("archival_memory_search", "query", request.about, tools)
        case "other":
            return DemoText(_abilities(tools))


def _lookup(tool: str, argument: str, about: str, tools: Mapping[str, ToolSpec]) -> DemoText | DemoCall:
    if tool not in tools:
        return DemoText(f"I would call `{tool}` for that, but this agent does not have it.")
    return DemoCall(tool, {argument: about.strip().strip("\"'").rstrip(".")})


def _remember(about: str, conversation: DemoView, tools: Mapping[str, ToolSpec]) -> DemoText | DemoCall:
    block, note = conversation.writable(), fact(about)
    if block is None or not note:
        return DemoText("I have no memory block that I may write to, so I cannot keep that.")
    if note in block.lines():
        return DemoText(f"I know that already: {note}")
    if "memory_insert" in tools:
        return DemoCall("memory_insert", {"label": block.label, "new_string": note})
    if "core_memory_append" in tools:
        return DemoCall("core_memory_append", {"label": block.label, "content": note})
    if "memory" in tools:
        path = f"/memories/{block.label}"
        return DemoCall(
            "memory", {"command": "insert", "path": path, "insert_line": len(block.value.split("\n")), "insert_text": note}
        )
    if "memory_rethink" in tools:
        return DemoCall("memory_rethink", {"label": block.label, "new_memory": "\n".join([*block.lines(), note])})
    return DemoText("I have no tool to edit my memory with, so I cannot keep that.")


def _forget(about: str, conversation: DemoView, tools: Mapping[str, ToolSpec]) -> DemoText | DemoCall:
    block = conversation.writable()
    found = matching(block.lines(), about) if block else []
    if block is None or not found:
        return DemoText(f"My memory holds nothing about {about.rstrip('.')}.")
    line = _with_its_break(block.value, found[0])
    if "memory_replace" in tools:
        return DemoCall("memory_replace", {"label": block.label, "old_string": line, "new_string": ""})
    if "core_memory_replace" in tools:
        return DemoCall("core_memory_replace", {"label": block.label, "old_content": line, "new_content": ""})
    if "memory" in tools:
        path = f"/memories/{block.label}"
        return DemoCall("memory", {"command": "str_replace", "path": path, "old_string": line, "new_string": ""})
    return DemoText("I have no tool to edit my memory with, so I cannot forget that.")


def _with_its_break(value: str, line: str) -> str:
    """The line with one adjacent line break, so that no empty line remains."""
    return next((part for part in (f"{line}\n", f"\n{line}") if value.count(part) == 1), line)


def _recollection(about: str, conversation: DemoView) -> str:
    block = conversation.blocks.get("human") or conversation.writable() or next(iter(conversation.blocks.values()), None)
    lines = block.lines() if block else []
    if not lines:
        return "I do not know anything about you yet. Tell me, for example: remember that my dog is called Rex."
    chosen = (matching(lines, about) or lines) if about else lines
    return "My memory says:\n" + "\n".join(chosen)


def _outcome(done: ReturnedCall, conversation: DemoView) -> str:
    if not done.ok:
        return f"`{done.tool}` did not work: {_clipped(done.words())}"
    match done.tool:
        case "memory_insert" | "core_memory_append" | "memory" | "memory_rethink" if note := _noted(done, conversation):
            return f"I will remember that. {note}"
        case "memory_replace" | "core_memory_replace" | "memory":
            return "It is gone from my memory."
        case "archival_memory_insert":
            return "It is in my archive."
        case "conversation_search" | "archival_memory_search":
            return f"This is what I found: {_clipped(done.words())}"
        case tool:
            return f"`{tool}` returned: {_clipped(done.words())}"


def _noted(done: ReturnedCall, conversation: DemoView) -> str:
    for name in ("new_string", "content", "insert_text"):
        if isinstance(text := done.arguments.get(name), str):
            return text
    block: SeenBlock | None = conversation.blocks.get(str(done.arguments.get("label")))
    return block.lines()[-1] if block and block.lines() and done.tool == "memory_rethink" else ""


def _clipped(text: str) -> str:
    return text if len(text) <= _CLIP else f"{text[:_CLIP]} …"


def _summary(transcript: str) -> str:
    lines = [line.strip() for line in transcript.splitlines() if line.startswith("[user]")]
    return "The user said so far: " + _clipped("; ".join(line.removeprefix("[user]").strip() for line in lines) or "nothing")


def _abilities(tools: Mapping[str, ToolSpec]) -> str:
    examples: Sequence[tuple[tuple[str, ...], str]] = (
        (("memory_insert", "core_memory_append", "memory", "memory_rethink"), "remember that my dog is called Rex"),
        (("memory_replace", "core_memory_replace", "memory"), "forget my dog"),
        (("conversation_search",), "search our conversation for Rex"),
        (("archival_memory_insert",), "archive: the plan of today"),
        (("archival_memory_search",), "look in your archive for the plan"),
    )
    examples_for_tools = [sentence for names, sentence in examples if any(name in tools for name in names)]
    examples_for_tools.append("what do you know about me")
    return "I understand only a few sentences. Try one of these:\n" + "\n".join(
        f"- {sentence}" for sentence in examples_for_tools
    )
