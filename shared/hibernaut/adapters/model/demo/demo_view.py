"""The demo model's view of a request: the memory blocks, the last message, and the returns of its own calls since then.

Reads only; makes no decision.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hibernaut.domain.memory.memory_updates import OPENING
from hibernaut.domain.tools.tool_returns import unwrapped
from hibernaut.domain.window.sent_messages import without_updates
from hibernaut.ports.model import ModelRequest
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message

_SECTION = re.compile(r"<memory_blocks>(.*)</memory_blocks>", re.DOTALL)
_REMOVED = re.compile(r"<removed_blocks>(.*)</removed_blocks>", re.DOTALL)
_REMOVED_LABEL = re.compile(r"^- (.+)$", re.MULTILINE)
_BLOCK = re.compile(
    r"<([^<>\s][^<>]*)>\n<description>.*?</description>\n<metadata>(.*?)</metadata>\n(?:<warning>.*?</warning>\n)?"
    r"<value>\n(.*?)\n</value>\n</\1>",
    re.DOTALL,
)
_LINE_NUMBER = re.compile(r"^[ \t]*\d+→ ?", re.MULTILINE)
_NOTICES = ("heartbeat", "login", "system_alert")


@dataclass(slots=True)
class SeenBlock:
    """A block in the model's view."""

    label: str
    value: str
    read_only: bool

    def lines(self) -> list[str]:
        """The lines of the value that are not blank."""
        return [line for line in self.value.split("\n") if line.strip()]


@immutable
class ReturnedCall:
    """A call and its return. `returned` is the unpacked message of the return."""

    tool: str
    arguments: JsonObject
    ok: bool
    returned: Json

    def words(self) -> str:
        """The return as a text; what is no text as JSON."""
        return self.returned if isinstance(self.returned, str) else json.dumps(self.returned, ensure_ascii=False)


@dataclass(slots=True)
class DemoView:
    """A parsed request. `user_text` is the person's last message, `done` the calls since then, `notice` a heartbeat after that
    message.
    """

    blocks: dict[str, SeenBlock] = field(default_factory=dict)
    user_text: str = ""
    notice: str = ""
    done: list[ReturnedCall] = field(default_factory=list)
    introduced: bool = False

    def writable(self) -> SeenBlock | None:
        """The block for notes about the person: `human`, else the first writable block other than `persona`, else `persona`."""
        free = [block for block in self.blocks.values() if not block.read_only]
        return min(free, key=lambda block: {"human": 0, "persona": 2}.get(block.label, 1), default=None)


def view(request: ModelRequest, signature: str) -> DemoView:
    """Parse a request. `signature`: words that the model has used if it has already introduced itself."""
    result = DemoView(blocks=_blocks(request.system))
    calls: dict[str, tuple[str, JsonObject]] = {}
    for sent in request.messages:
        _follow_update(result, sent)
        row = without_updates(sent)
        match row.role:
            case "user":
                _hear(result, row)
            case "assistant" | "approval":
                for call in row.tool_calls or ():
                    calls[call.id] = (call.function.name, read_object(call.function.arguments))
                result.introduced = result.introduced or _says(row, signature)
            case "tool":
                for done in _returned(row, calls):
                    result.done.append(done)
                    _follow_edit(result, done)
            case "system" | "summary":
                continue
    return result


def read_object(text: str) -> JsonObject:
    """The JSON object in a text; empty if there is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _blocks(text: str) -> dict[str, SeenBlock]:
    return {
        label: SeenBlock(label, _LINE_NUMBER.sub("", value), "read_only=true" in facts)
        for label, facts, value in _BLOCK.findall(_tagged(text, _SECTION))
    }


def _tagged(text: str, section: re.Pattern[str]) -> str:
    found = section.search(text)
    return found[1] if found else ""


def _hear(conversation: DemoView, row: Message) -> None:
    text = row.text()
    kind = read_object(text).get("type") if text.startswith("{") else None
    if kind in _NOTICES:
        conversation.notice = text if kind == "heartbeat" else conversation.notice
        return
    conversation.user_text, conversation.notice, conversation.done = unwrapped(row), "", []


def _says(row: Message, signature: str) -> bool:
    return signature in row.text() or any(signature in call.function.arguments for call in row.tool_calls or ())


def _returned(row: Message, calls: dict[str, tuple[str, JsonObject]]) -> Sequence[ReturnedCall]:
    found = []
    for item in row.tool_returns:
        tool, arguments = calls.get(item.tool_call_id, (row.name or "", {}))
        packed = item.func_response or ""
        returned = read_object(packed).get("message", packed)
        found.append(ReturnedCall(tool, arguments, item.status == "success", returned))
    return found


def _follow_update(conversation: DemoView, row: Message) -> None:
    """Update the view of the blocks from an update of memory that a message carries."""
    texts = [part.text for part in row.content if part.type == "text"]
    for text in (*texts, *(each.func_response or "" for each in row.tool_returns)):
        update = text.partition(OPENING)[2]
        conversation.blocks |= _blocks(update)
        for label in _REMOVED_LABEL.findall(_tagged(update, _REMOVED)):
            conversation.blocks.pop(label, None)


def _follow_edit(conversation: DemoView, done: ReturnedCall) -> None:
    """Update the view of a block from the return of a memory tool, because the prompt shows the old value until the end of the
    run.
    """
    label = done.arguments.get("label") or str(done.arguments.get("path", "")).removeprefix("/memories/")
    edits = done.tool.startswith(("memory_", "core_memory_")) or done.arguments.get("command") in ("insert", "str_replace")
    if done.ok and edits and isinstance(label, str) and label in conversation.blocks and isinstance(done.returned, str):
        conversation.blocks[label].value = _LINE_NUMBER.sub("", done.returned)
