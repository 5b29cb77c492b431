"""Writes the events of a stream for a person: text as it comes, reasoning and calls in colours, one line for what they cost."""

from __future__ import annotations

from typing import TextIO

from hibernaut.local.terminal import CYAN, DIM, RED, Paint, harmless, one_line
from hibernaut.schemas.base import Json, JsonObject

LONGEST_RETURN = 300
"""The number of characters of a tool's return in the output."""
SILENT = frozenset({"ping", "user_message", "system_message", "approval_response_message", "event_message"})


class ChatScreen:
    """A conversation on one output. `stop_reason` is that of the newest run, "" while it goes on."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._paint = Paint(out)
        self._open: tuple[str, ...] = ()
        self.stop_reason = ""
        self.pending_calls: list[JsonObject] = []
        """The calls of the newest run that wait for an answer."""

    def begin(self) -> None:
        """A run begins."""
        self.stop_reason, self.pending_calls = "", []

    def show(self, event: JsonObject) -> None:
        """Write an event."""
        kind = str(event.get("message_type"))
        match kind:
            case "assistant_message":
                self._piece((kind, str(event["id"])), "", text_of(event["content"]), "")
            case "reasoning_message":
                self._piece((kind, str(event["id"])), "", str(event["reasoning"]), DIM)
            case "tool_call_message" | "approval_request_message":
                for call in calls_of(event):
                    self._call(kind, str(event["id"]), call)
            case "tool_return_message":
                colour = DIM if event.get("status") == "success" else RED
                self.line(f"← {event.get('status')}: {one_line(text_of(event.get('tool_return')), LONGEST_RETURN)}", colour)
            case "error_message":
                self.line(f"error: {event.get('detail') or event.get('message')}", RED)
            case "stop_reason":
                self.stop_reason = str(event["stop_reason"])
            case "usage_statistics":
                self.line(used(event), DIM)
            case "summary_message":
                self.line("The oldest messages were replaced by a summary.", DIM)
            case _:
                if kind not in SILENT:
                    self.line(kind, DIM)

    def note(self, request: JsonObject) -> None:
        """Remember the calls of a request for approval, and write nothing."""
        for call in calls_of(request):
            self._wait_for(call)

    def line(self, text: str, colour: str = "") -> None:
        """Write a line of its own."""
        self.end()
        self._write(self._paint(harmless(text), colour) if colour else harmless(text), end="\n")

    def end(self) -> None:
        """End the line that is being written."""
        if self._open:
            self._write("", end="\n")
        self._open = ()

    def _call(self, kind: str, message_id: str, call: JsonObject) -> None:
        """Write a call, or a piece of one: the first piece has the name."""
        place = (kind, message_id, str(call.get("tool_call_id") or (self._open[2] if len(self._open) > 2 else "")))
        mark = "?" if kind == "approval_request_message" else "→"
        if kind == "approval_request_message":
            self._wait_for(call)
        self._piece(place, f"{mark} {call.get('name') or ''} ", str(call.get("arguments") or ""), CYAN)

    def _wait_for(self, call: JsonObject) -> None:
        call_id = call.get("tool_call_id") or (self.pending_calls[-1]["tool_call_id"] if self.pending_calls else "")
        pending = next((one for one in self.pending_calls if one["tool_call_id"] == call_id), None)
        if pending is None:
            self.pending_calls.append(
                {"name": call.get("name") or "", "arguments": call.get("arguments") or "", "tool_call_id": call_id}
            )
        else:
            pending["arguments"] += call.get("arguments") or ""

    def _piece(self, place: tuple[str, ...], mark: str, text: str, colour: str) -> None:
        if place != self._open:
            self.end()
            self._write(self._paint(mark, colour) if colour else mark)
            self._open = place
        self._write(self._paint(harmless(text), colour) if colour else harmless(text))

    def _write(self, text: str, end: str = "") -> None:
        print(text, end=end, file=self._out, flush=True)


def calls_of(message: JsonObject) -> list[JsonObject]:
    """The calls of a message; in token streams `tool_calls` is one piece of one call."""
    found = message.get("tool_calls") or message.get("tool_call") or ()
    return [dict(found)] if isinstance(found, dict) else [dict(one) for one in found]


def text_of(content: Json) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or () if isinstance(part, dict) and part.get("type") == "text")


def used(usage: JsonObject) -> str:
    """What a run has used, in one line."""
    steps = usage.get("step_count") or 0
    parts = [f"{steps} step{'' if steps == 1 else 's'}", f"{usage.get('total_tokens') or 0:,} tokens"]
    if usage.get("cost") is not None:
        parts.append(f"${usage['cost']:.4f}")
    return " · ".join(parts)
