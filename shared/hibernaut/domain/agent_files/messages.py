"""The messages of an agent file as rows of a log, repaired so that a model accepts every prefix of it; and the window on them.

Pure: ids and time are arguments. The system message is not among the rows: it is compiled anew from the imported memory, because
the text in the file shows the memory of another time and the ids of another server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import TypeAdapter, ValidationError

from hibernaut.domain.agent_files.documents import corrupted
from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.domain.tools.tool_returns import json_object
from hibernaut.domain.window.open_calls import INTERRUPTED, Closing, OpenCall, closed
from hibernaut.schemas.agents.conversation import Window
from hibernaut.schemas.base import Json, JsonObject, Moment
from hibernaut.schemas.content import Part
from hibernaut.schemas.ids import derived_otid
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message, ToolCall, ToolReturn

ROLES = frozenset({"system", "user", "assistant", "tool", "approval", "summary"})
_TAKEN_OVER = ("name", "model", "otid", "sender_id", "group_id", "batch_item_id", "tool_call_id", "denial_reason")
_ENVELOPES = frozenset({"user_message", "login", "heartbeat", "system_alert"})
"""The envelopes that V1 puts around a text (RT 14.1)."""
_PART: TypeAdapter[Part] = TypeAdapter(Part)
_CALLS: TypeAdapter[list[ToolCall]] = TypeAdapter(list[ToolCall])
_RETURNS: TypeAdapter[list[ToolReturn]] = TypeAdapter(list[ToolReturn])
_MOMENT: TypeAdapter[datetime] = TypeAdapter(Moment)


@dataclass(slots=True)
class ReadLog:
    """The facts of a log after all its rows are read. `ids`: the new ids by those of the file. `conversational`: the ids of the
    conversational rows in order, `all`: those of all rows. `closing`: the row that closes the calls of another one, by the id of
    the row before it.
    """

    ids: dict[str, str] = field(default_factory=dict)
    all: list[str] = field(default_factory=list)
    conversational: list[str] = field(default_factory=list)
    closing: dict[str, str] = field(default_factory=dict)

    def shown(self, in_context: Sequence[str]) -> list[str]:
        """The ids of the rows in the window behind the system message, for these messages of the file. A row that closes calls
        follows them.
        """
        row_ids = [self.ids[one] for one in in_context if one in self.ids]
        return [row for one in row_ids for row in (one, self.closing.get(one)) if row is not None]

    def window(self, system_id: str, visible: Sequence[str]) -> Window:
        """The window that shows the system message and these rows in this order: the end of the log after a cut, and pinned rows
        before it.
        """
        tail = 0
        while tail < min(len(visible), len(self.conversational)) and visible[-1 - tail] == self.conversational[-1 - tail]:
            tail += 1
        if not tail:
            return Window(pinned=[system_id, *visible], cut=self.all[-1] if self.all else system_id)
        before = self.all.index(self.conversational[-tail])
        return Window(pinned=[system_id, *visible[: len(visible) - tail]], cut=self.all[before - 1] if before else system_id)


@immutable
class LogReading:
    """The agent whose messages are read. `new_id` returns an id that sorts after the given one. `prompt`: the id in the file of
    its system message, which is left out; "" if it has none.
    """

    agent_id: str
    system_id: str
    prompt: str
    now: datetime
    timezone: str
    new_id: Callable[[str], str]


def prompt_of(messages: Sequence[Json], in_context: Sequence[str]) -> str:
    """The id in the file of the agent's system message: the first in the window, or else the first of the log; "" if there is
    none.
    """
    roles = {one.get("id"): one.get("role") for one in messages if isinstance(one, dict)}
    if in_context and roles.get(in_context[0]) == "system":
        return in_context[0]
    first = next((one for one in messages if isinstance(one, dict)), {})
    return str(first.get("id") or "messages[0]") if not in_context and first.get("role") == "system" else ""


class ImportedLog:
    """Reads the messages of one agent. `rows` is read once; `read` is complete after it."""

    def __init__(self, reading: LogReading, notes: ImportNotes) -> None:
        self._of = reading
        self._notes = notes
        self._open: list[OpenCall] = []
        self._last = reading.system_id
        self._at = reading.now
        self._before = ""
        self.read = ReadLog()

    def rows(self, messages: Sequence[Json]) -> Iterator[Message]:
        """The rows of the log in order. Raises: InvalidArgument if two messages have one id."""
        for place, raw in enumerate(messages):
            if not isinstance(raw, dict):
                self._left_out("message_unreadable", f"messages[{place}]", "Messages that are no objects.")
                continue
            raw_id = raw.get("id")
            identifier = raw_id if isinstance(raw_id, str) else f"messages[{place}]"
            if identifier in self.read.ids:
                raise corrupted(f"Two messages have the id {identifier[:100]!r}.")
            if identifier == self._of.prompt:
                continue
            row = self._row(raw, identifier)
            if row is None:
                continue
            if self._interrupts(row) and self._open:
                yield self._closed()
            self._count_calls(row)
            row.id = self._placed()
            self.read.ids[identifier] = row.id
            if row.role == "system" and row.otid is None:
                row.otid = derived_otid(row.id, 0)  # a row without one is a prompt, which no window shows
            self._listed(row)
            self._at, self._before = row.created_at, row.role
            yield row
        if self._open:
            yield self._closed()

    def _row(self, raw: JsonObject, place: str) -> Message | None:
        role = raw.get("role")
        if not isinstance(role, str) or role not in ROLES:
            self._left_out("message_role", place, "Messages of a role that there is not.")
            return None
        row = Message(id="", role=role, agent_id=self._of.agent_id, created_at=self._time(raw))
        for name in _TAKEN_OVER:
            if isinstance(value := raw.get(name), str):
                setattr(row, name, value)
        row.content = self._content(raw, place)
        row.wrapped = role in ("user", "system") and _is_wrapped(row)
        if calls := raw.get("tool_calls"):
            self._calls(row, calls, place)
        if role == "tool":
            return row if self._returns(row, raw, place) else None
        if role == "approval":
            self._approval(row, raw)
        return row

    def _time(self, raw: JsonObject) -> datetime:
        try:
            return _MOMENT.validate_python(raw["created_at"])
        except (KeyError, ValidationError):
            return self._at

    def _content(self, raw: JsonObject, place: str) -> list[Part]:
        content = raw.get("content", raw.get("text"))
        if content is None:
            if raw.get("role") not in ("assistant", "approval", "tool"):
                self._repaired("content_null", place, "Messages whose content is null are empty.")
            return []
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(parts, list):
            self._left_out("content_unreadable", place, "Contents that are neither text nor a list of parts.")
            return []
        return [read for part in parts if (read := self._part(part, place)) is not None]

    def _part(self, part: Json, place: str) -> Part | None:
        try:
            return _PART.validate_python(part)
        except ValidationError:
            pass
        raw_part = {"type": "text", "text": part} if isinstance(part, str) else part
        kind = raw_part.get("type") if isinstance(raw_part, dict) else None
        empty = {"text": {"text": ""}, "reasoning": {"reasoning": ""}, "redacted_reasoning": {"data": ""}}.get(str(kind))
        if empty is not None:
            try:
                repaired = _PART.validate_python({**empty, **{name: one for name, one in raw_part.items() if one is not None}})
            except ValidationError:
                repaired = None
            if repaired is not None:
                self._repaired("part_null", place, "Parts of a content whose text is null are empty.")
                return repaired
        self._left_out("part_unreadable", place, "Parts of a content that are of no known form.")
        return None

    def _calls(self, row: Message, calls: Json, place: str) -> None:
        read = []
        for at, call in enumerate(calls if isinstance(calls, list) else []):
            function = call.get("function") if isinstance(call, dict) else None
            function = function if isinstance(function, dict) else {}
            name = function.get("name")
            if not isinstance(name, str) or not name or row.role not in ("assistant", "approval"):
                self._left_out("call_unreadable", place, "Calls without the name of a function.")
                continue
            arguments = function.get("arguments")
            if not isinstance(arguments, str):
                arguments = json.dumps(arguments if arguments is not None else {}, ensure_ascii=False)
                self._repaired("call_arguments", place, "Arguments of calls that are no text were written as JSON text.")
            identifier = call.get("id")
            if not isinstance(identifier, str) or not identifier:
                identifier = f"call_{len(self.read.all)}_{at}"
                self._repaired("call_id", place, "Calls without an id got one.")
            read.append({"id": identifier, "function": {"name": name, "arguments": arguments}})
        if read:
            row.tool_calls = _CALLS.validate_python(read)

    def _returns(self, row: Message, raw: JsonObject, place: str) -> bool:
        """Add the returns of calls that are open. Returns whether there are any."""
        raw_returns = raw.get("tool_returns")
        entries = [one for one in raw_returns if isinstance(one, dict)] if isinstance(raw_returns, list) else []
        returns = [self._return(one, row) for one in entries or [{}]]
        open_ids = {call.id for call in self._open}
        matching = [one for one in returns if one["tool_call_id"] in open_ids]
        if len(matching) < len(returns):
            self._left_out("return_without_call", place, "Returns of calls that are not in the file.")
        if not matching:
            return False
        row.tool_call_id = row.tool_call_id if row.tool_call_id in open_ids else matching[0]["tool_call_id"]
        if row.name is None:
            row.name = next(call.name for call in self._open if call.id == row.tool_call_id)
        try:
            row.tool_returns = _RETURNS.validate_python(matching)
        except ValidationError:
            row.tool_returns = _RETURNS.validate_python([{**one, "images": []} for one in matching])
            self._left_out("image_unreadable", place, "Images of returns that are of no known form.")
        return True

    def _return(self, raw_return: JsonObject, row: Message) -> JsonObject:
        only_call = self._open[0].id if len(self._open) == 1 else None
        response = raw_return.get("func_response", row.text())
        if response is not None and not isinstance(response, str):
            response = json.dumps(response, ensure_ascii=False)
        status = raw_return.get("status") or (json_object(row.text()) or {}).get("status")
        return {
            "tool_call_id": raw_return.get("tool_call_id") or row.tool_call_id or only_call,
            "status": "error" if status in ("error", "Failed", "failed") else "success",
            "func_response": response,
            "stdout": _output(raw_return.get("stdout")),
            "stderr": _output(raw_return.get("stderr")),
            "images": raw_return.get("images") or [],
        }

    def _approval(self, row: Message, raw: JsonObject) -> None:
        approvals = raw.get("approvals")
        if isinstance(approvals, list):
            row.approvals = [one for one in approvals if isinstance(one, dict)]
        if isinstance(raw.get("approve"), bool):
            row.approve = raw["approve"]
        if isinstance(request := raw.get("approval_request_id"), str):
            row.approval_request_id = self.read.ids.get(request)

    def _interrupts(self, row: Message) -> bool:
        """Whether calls that are open before this row have no return. A request for an approval belongs to the reply of the row
        before it.
        """
        if row.role == "approval":
            return bool(row.tool_calls) and self._before != "assistant"
        return row.role != "tool"

    def _count_calls(self, row: Message) -> None:
        self._open += [OpenCall(call.id, call.function.name) for call in row.tool_calls or ()]
        returned = {one.tool_call_id for one in row.tool_returns}
        self._open = [call for call in self._open if call.id not in returned]

    def _closed(self) -> Message:
        before = self._last
        place = Closing(self._placed(), self._of.agent_id, None, None, self._at, self._of.timezone)
        row = closed(self._open, INTERRUPTED, place)
        self._repaired("call_without_return", self._open[0].id, "Calls without a return were closed with an error.")
        self._open = []
        self._listed(row)
        self.read.closing[before] = row.id
        return row

    def _placed(self) -> str:
        self._last = self._of.new_id(self._last)
        return self._last

    def _listed(self, row: Message) -> None:
        self.read.all.append(row.id)
        if row.role != "summary":
            self.read.conversational.append(row.id)

    def _repaired(self, code: str, place: str, detail: str) -> None:
        self._notes.add("repaired", code, place, detail)

    def _left_out(self, code: str, place: str, detail: str) -> None:
        self._notes.add("left_out", code, place, f"{detail[:-1]} were left out.")


def _output(value: Json) -> list[str] | None:
    """What a tool printed, given as a list of texts or as one; None if there is nothing."""
    if isinstance(value, list):
        return [one for one in value if isinstance(one, str)]
    return [value] if isinstance(value, str) and value else None


def _is_wrapped(row: Message) -> bool:
    envelope = json_object(row.text()) if row.content else None
    kind = None if envelope is None else envelope.get("type")
    return isinstance(kind, str) and kind in _ENVELOPES
