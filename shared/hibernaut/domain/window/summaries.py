"""The prompts of a summariser, the extraction of its summary, and the envelope in which the agent's model reads it.

The keys of the envelope are Letta's (RT 6.4), because clients parse them; the sentences are ours.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import assert_never

from hibernaut.domain.models.tokens import count
from hibernaut.domain.times import model_time
from hibernaut.domain.tools.tool_returns import as_text, json_object, storable
from hibernaut.schemas.messages.letta_message import CompactionStats
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.model_settings import CompactionMode, CompactionSettings

ENVELOPE_TOKENS = 200
"""The largest size of the envelope around a summary, in tokens."""
CUT_OFF = "... [summary truncated to fit]"
READY = "The messages to summarise come next. Are you ready?"
ACKNOWLEDGED = "Understood. I will answer with the summary alone, between <summary> and </summary>."
_NOTE = "Note: earlier messages of this conversation are no longer in view"
_OWN_TAG = re.compile(r"<(?=/?(?:start_transcript|end_transcript|summary_so_far|summary)\b)", re.IGNORECASE)
_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)

_TASK = (
    "You keep the memory of an AI agent whose conversation no longer fits its context window. What you write takes the place of the "
    "messages that you are shown: the agent will see your summary and not them, and must be able to go on as if it had read them."
)
_CONTENTS = """Write down, in this order and only where there is something to say:
1. What the user wants: goals, tasks, preferences, in the user's own terms.
2. What has happened: decisions, answers, tool calls and what they brought.
3. Details that must not be lost: names, numbers, dates, paths, addresses, identifiers, exact quotations.
4. Errors, and how they were put right.
{more}Hints for looking things up later: words by which the messages can be found again."""
_NOW = "5. Where things stand now, and the very next step.\n6. "
_RULES = (
    "If you are given a summary of what came before, take it into yours; nothing of it may be lost that still matters. State facts only, "
    "invent nothing, and do not speak to the user. At most {words} words. Answer with the summary and nothing else."
)
_OF_YOURSELF = (
    "Your context window is nearly full. {what} will be taken out of your view and your answer to this message put in their place. "
    "Write the summary that you yourself will need to go on; call no tool."
)


def default_prompt(mode: CompactionMode) -> str:
    """The default prompt of a compaction mode (RT 6.2)."""
    whole = _CONTENTS.format(more=_NOW)
    part = _CONTENTS.format(more="5. ")
    match mode:
        case "all":
            return "\n\n".join((_TASK, whole, _RULES.format(words=500)))
        case "sliding_window":
            return "\n\n".join((_TASK, part, _RULES.format(words=300)))
        case "self_compact_all":
            return "\n\n".join((_OF_YOURSELF.format(what="All messages so far"), whole, _RULES.format(words=500)))
        case "self_compact_sliding_window":
            return "\n\n".join((_OF_YOURSELF.format(what="The messages so far"), part, _RULES.format(words=300)))
        case _:
            assert_never(mode)


def with_prompt(settings: CompactionSettings | None) -> CompactionSettings | None:
    """The settings as the API shows them: without a prompt of their own they show the mode's default."""
    if settings is None or settings.prompt is not None:
        return settings
    return settings.model_copy(update={"prompt": default_prompt(settings.mode)})


def request(transcript: str, before: str, part: int, parts: int) -> str:
    """The user message for a summariser: one part of the transcript, and the summary of the previous parts. The tags of this
    message are escaped in both, so that no text ends the transcript and speaks as the server.
    """
    before, transcript = (_OWN_TAG.sub("&lt;", text) for text in (before, transcript))
    earlier = f"<summary_so_far>\n{before}\n</summary_so_far>\n\n" if before else ""
    part_note = f"This is part {part} of {parts} of the messages. " if parts > 1 else ""
    return (
        f"{earlier}<start_transcript>\n{transcript}\n<end_transcript>\n\n"
        f"{part_note}Write the summary{' of everything so far: of the summary above and of these messages together' if before else ''}."
    )


def body(answer: str, *, acknowledged: bool) -> str:
    """The summary in a summariser's answer. `acknowledged`: the prompt requested tags, so text outside the tags is dropped."""
    found = _SUMMARY.search(answer) if acknowledged else None
    return storable(found[1] if found and found[1].strip() else answer).strip()


def clipped(summary: str, clip_chars: int | None, room: int) -> str:
    """The summary, cut to `clip_chars` characters and to `room` tokens."""
    body = summary if clip_chars is None else summary[: max(0, clip_chars)]
    text = summary if len(body) == len(summary) else body + CUT_OFF
    while body and (size := count(text)) > room:
        body = body[: min(len(body) - 1, len(body) * max(0, room) // size)]
        text = body + CUT_OFF
    return text


def packed(summary: str, outside_window: int, stats: CompactionStats, now: datetime, timezone: str) -> str:
    """The summary in its envelope. `outside_window` is the number of messages that are stored but outside the window."""
    message = f"{_NOTE} ({outside_window} are stored in recall memory, where they can be searched). This is a summary of them:\n{summary}"
    envelope = {
        "type": "system_alert",
        "message": message,
        "time": model_time(now, timezone),
        "compaction_stats": stats.model_dump(),
    }
    return json.dumps(envelope, ensure_ascii=False)


def unpacked(row: Message) -> str:
    """The bare summary in a summary row; for a row of another server, the whole message."""
    text = row.text()
    envelope = json_object(text)
    message = as_text(envelope["message"]) if envelope is not None and "message" in envelope else text
    return message.partition("\n")[2] if message.startswith(_NOTE) else message
