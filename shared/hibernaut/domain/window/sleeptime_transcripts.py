"""The transcript of a conversation for a sleep-time agent: lines as in Letta V1 (RT 9.3), and our own words around
them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hibernaut.domain.tools.tool_returns import json_object, unwrapped
from hibernaut.schemas.content import ReasoningContent, SummarizedReasoningContent
from hibernaut.schemas.messages.message import Message, ToolCall

LONGEST = 60_000
"""The largest size of a transcript in characters. It is smaller for an agent with a small context window."""
SHORTEST = 2_000
"""The smallest such limit, in characters."""
SPEAKING = "send_message"
_INTRODUCTION = """\
This is a report on a conversation that has already taken place. It was not held with you, and nobody reads a reply to it.
Lines that begin with `user:` are what a person said to the agent whose memory you keep; lines that begin with `assistant:` are what that \
agent said, thought and did. Returns of tools are left out.
Bring the blocks that you share with that agent up to date. Your block `memory_persona` says how you work."""


def limit_for(context_window: int) -> int:
    """The largest size of a transcript in characters, for an agent with a context window of so many tokens: about a quarter of
    it.
    """
    return max(SHORTEST, min(LONGEST, context_window))


def report(parts: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The message with these lines, by conversation. Only several conversations, or one that is not the agent's own, are named
    (`""`: its own).
    """
    texts = [_INTRODUCTION]
    for conversation, lines in parts:
        suffix = f" in the conversation {conversation}" if conversation else ""
        texts.append("\n".join([f"What was said{suffix}:", *lines]))
    return "\n\n".join(texts)


def lines_of(row: Message, longest: int) -> list[str]:
    """The lines of a row, each cut in its middle to `longest` characters; none for omitted rows: system messages, returns of
    tools, summaries, and messages of the server to the agent itself.
    """
    return [_clipped(line.replace("\n", "\n  "), longest) for line in _lines(row)]


def _lines(row: Message) -> Iterator[str]:
    if row.role == "user" and row.step_id is None:
        images = sum(part.type == "image" for part in row.content)
        if text := " ".join(part for part in (unwrapped(row), f"[{images} images]" if images else "") if part):
            yield f"user: {text}"
    if row.role not in ("assistant", "approval"):
        return
    calls = row.tool_calls or []
    speaking_calls = [call for call in calls if call.function.name == SPEAKING]
    for part in row.content:
        thought = _thought(part)
        if thought:
            yield f"assistant: <thinking>{thought}</thinking>"
    if text := row.text():
        yield f"assistant: <thinking>{text}</thinking>" if speaking_calls else f"assistant: {text}"
    for call in calls:
        yield f"assistant: {_spoken_text(call)}" if call in speaking_calls else f"assistant: Calling tool {call.function.name}"


def _thought(part: object) -> str:
    match part:
        case ReasoningContent():
            return part.reasoning
        case SummarizedReasoningContent():
            return "\n".join(piece.text for piece in part.summary)
        case _:
            return ""


def _spoken_text(call: ToolCall) -> str:
    arguments = json_object(call.function.arguments) or {}
    return str(arguments.get("message", ""))


def _clipped(line: str, longest: int) -> str:
    if len(line) <= longest:
        return line
    half = longest // 2
    return f"{line[:half]} [... {len(line) - 2 * half} characters left out ...] {line[-half:]}"
