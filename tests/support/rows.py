"""Short constructors of log rows and tools, for tests of model requests."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hibernaut.ports.model import ModelReply, ToolSpec
from hibernaut.schemas.content import Part, TextContent
from hibernaut.schemas.messages.message import FunctionCall, Message, ToolCall, ToolReturn

NOW = datetime(2026, 3, 1, 9, 15, tzinfo=UTC)
STAMP = "2026-03-01 09:15:00 AM UTC+0000"


def called(call_id: str, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, function=FunctionCall(name=name, arguments=json.dumps(arguments)))


def gave(call_id: str, message: Any = "done", status: Any = "success") -> ToolReturn:
    packed = json.dumps({"status": "OK" if status == "success" else "Failed", "message": message, "time": STAMP}, indent=2)
    return ToolReturn(tool_call_id=call_id, status=status, func_response=packed)


@dataclass
class Rows:
    """Creates the rows of one conversation, with ordered ids."""

    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def row(self, role: Any, content: str | list[Part] = "", **fields: Any) -> Message:
        parts: list[Part] = ([TextContent(text=content)] if content else []) if isinstance(content, str) else content
        return Message(
            id=f"message-{next(self.numbers):08}", role=role, content=parts, agent_id="agent-1", created_at=NOW, **fields
        )

    def user(self, content: str | list[Part]) -> Message:
        return self.row("user", content)

    def assistant(self, content: str | list[Part] = "", *calls: ToolCall, model: str = "test-model") -> Message:
        return self.row("assistant", content, tool_calls=list(calls) or None, model=model)

    def replied(self, reply: ModelReply, **fields: Any) -> Message:
        """The row that the log has for the reply of a step."""
        calls = [
            ToolCall(id=call.id, function=FunctionCall(name=call.name, arguments=call.arguments)) for call in reply.tool_calls
        ]
        text = [TextContent(text=reply.text)] if reply.text else []
        kept = {"native": reply.native, "step_id": f"step-{next(self.numbers)}", "model": "test-model"} | fields
        return self.row("assistant", [*reply.reasoning, *text], tool_calls=calls or None, **kept)

    def tool(self, *returns: ToolReturn, name: str = "") -> Message:
        return self.row("tool", name=name, tool_returns=list(returns), tool_call_id=returns[0].tool_call_id)

    def asked_approval(self, *calls: ToolCall, content: str = "", model: str = "test-model") -> Message:
        return self.row("approval", content, tool_calls=list(calls), model=model)

    def answered_approval(self, *approvals: dict[str, Any]) -> Message:
        return self.row("approval", approvals=list(approvals))


def tool(name: str, *, required: tuple[str, ...] = (), strict: bool = False, **properties: Any) -> ToolSpec:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description=f"{name} does its work.", parameters=parameters, strict=strict)


TEXT = {"type": "string"}
MEMORY_INSERT = tool(
    "memory_insert", required=("label", "new_string"), label=TEXT, new_string=TEXT, insert_line={"type": "integer"}
)
MEMORY_REPLACE = tool(
    "memory_replace", required=("label", "old_string", "new_string"), label=TEXT, old_string=TEXT, new_string=TEXT
)
SEARCH = tool("conversation_search", query=TEXT)
SEND_MESSAGE = tool("send_message", required=("message",), message=TEXT)


def prompt(human: str = "", *, read_only: bool = False, numbered: bool = False) -> str:
    """A system message with the blocks `persona` and `human`, as the server compiles it."""
    value = "\n".join(f"{n}→ {line}" for n, line in enumerate(human.split("\n"), 1)) if numbered else human
    warning = "<warning>\nOnly for orientation.\n</warning>\n" if numbered else ""
    facts = "- read_only=true\n" if read_only else ""
    blocks = [("persona", "I am a test.", "", ""), ("human", value, warning, facts)]
    shown = "\n\n".join(
        f"<{label}>\n<description>\nAbout the {label}.\n</description>\n<metadata>\n{fact}- chars_current=1\n- chars_limit=9\n</metadata>\n"
        f"{warn}<value>\n{text}\n</value>\n</{label}>"
        for label, text, warn, fact in blocks
    )
    return f"Be kind.\n\n<memory_blocks>\nThese are your blocks.\n\n{shown}\n</memory_blocks>\n\n<memory_metadata>\n</memory_metadata>"
