"""What changed in an agent's memory since its model was last told, as a section that a newer message carries.

The system message stays frozen for a window, because providers cache what a prompt begins with and bind signed thinking to it. An
update names each changed part with its whole new value, so the newest value that a model finds is the current one. Pure; knows neither
log nor store.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from hibernaut.domain.memory.system_prompt import (
    FORM,
    PromptInputs,
    archival_line,
    archival_tags,
    block_sections,
    recall_line,
    tagged,
)
from hibernaut.domain.models.tokens import count
from hibernaut.domain.prompt_tags import UPDATE
from hibernaut.domain.times import model_time
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.frozen_prompt import FrozenPrompt, MemoryUpdate

TOLD_SHARE, TOLD_TOKENS = 0.25, 2_000
"""The updates of one window may take this share of it, and always this many tokens. With more, the system message is frozen anew
(decision 23).
"""
OPENING = f"<{UPDATE}>"
_ABOUT = (
    "The server writes this section; the user neither wrote nor sees it. Your memory has changed. Each part below replaces the part of the "
    "same name above, in your instructions or in an earlier update; what is not named here is unchanged."
)
_NO_RULES = "There are no tool rules any more."
_NO_DIRECTORIES = "No folders are attached any more."
_BLOCK, _FILE, _RULES, _DIRECTORIES, _ARCHIVAL = "block:", "file:", "rules", "directories", "archival"
_FILES = re.compile(r'(<file status="\w+" name="([^"]*)">\n)(.*?)(\n</file>)', re.DOTALL)


@immutable
class UpdatePlace:
    """Where an update can be told. `message_id`: the newest row that no request has contained; None: there is none that can carry it.
    `at`: the time of that row, so that a second attempt at a step tells the same. `window_tokens`: the size of the window.
    """

    message_id: str | None
    at: datetime
    window_tokens: int


def frozen_prompt(inputs: PromptInputs) -> FrozenPrompt:
    """A system message that was compiled just now: the model is told all of it."""
    return FrozenPrompt(basis=_basis(inputs), shown=_hashes(inputs))


def continued(before: FrozenPrompt, inputs: PromptInputs, place: UpdatePlace) -> FrozenPrompt | None:
    """The frozen system message with one more update, if anything changed that the model is told of.

    None: it must be frozen anew, because something else than memory changed, because no message can carry the update, or because the
    updates would become too many.
    """
    now = _hashes(inputs)
    if before.basis != _basis(inputs):
        return None
    text = update_text(before.shown, replace(inputs, compiled_at=place.at))
    if text is None:
        return before.model_copy(update={"shown": now})
    if place.message_id is None:
        return None
    update = MemoryUpdate(message_id=place.message_id, text=text, tokens=count(text))
    if before.told_tokens + update.tokens > max(TOLD_TOKENS, TOLD_SHARE * place.window_tokens):
        return None
    return before.model_copy(update={"shown": now, "updates": [*before.updates, update]})


def update_text(shown: Mapping[str, str], inputs: PromptInputs) -> str | None:
    """The section that tells what differs from what the model was `shown`; None if nothing does."""
    now = _hashes(inputs)
    changed = {key for key in {*shown, *now} if shown.get(key) != now.get(key)}
    if not changed:
        return None
    sections = [
        _blocks(inputs, changed),
        _removed(shown, now),
        (inputs.rules_section or tagged("tool_usage_rules", _NO_RULES)) if _RULES in changed else "",
        _directories(inputs, changed) if _DIRECTORIES in changed else "",
        _metadata(inputs, told_archival=_ARCHIVAL in changed),
    ]
    return tagged(UPDATE, "\n\n".join([_ABOUT, *(section for section in sections if section)]))


def without_update(text: str) -> str:
    """A text as it is sent, without the update at its end."""
    return text.partition(OPENING)[0].rstrip("\n") if OPENING in text else text


def _basis(inputs: PromptInputs) -> str:
    parts = [
        FORM,
        inputs.agent_id,
        inputs.conversation,
        inputs.system,
        inputs.shows_memory,
        inputs.numbers_lines,
        inputs.timezone,
    ]
    return _hash(json.dumps(parts))


def _hashes(inputs: PromptInputs) -> dict[str, str]:
    """The hash of each part of memory. Blocks whose labels have the same tag are one part."""
    parts: dict[str, str] = {}
    for tag, section in block_sections(inputs):
        parts[f"{_BLOCK}{tag}"] = parts.get(f"{_BLOCK}{tag}", "") + section
    for _, name, body, _ in _FILES.findall(inputs.directories or ""):
        parts[f"{_FILE}{name}"] = body
    parts[_RULES] = inputs.rules_section or ""
    parts[_DIRECTORIES] = inputs.directories or ""
    parts[_ARCHIVAL] = f"{inputs.archival_memories}: {archival_tags(inputs)}"
    return {key: _hash(text) for key, text in parts.items()}


def _blocks(inputs: PromptInputs, changed: set[str]) -> str:
    told = [section for tag, section in block_sections(inputs) if f"{_BLOCK}{tag}" in changed]
    return tagged("memory_blocks", "\n\n".join(told)) if told else ""


def _removed(shown: Mapping[str, str], now: Mapping[str, str]) -> str:
    gone = [key.removeprefix(_BLOCK) for key in shown if key.startswith(_BLOCK) and key not in now]
    return tagged("removed_blocks", "\n".join(f"- {tag}" for tag in gone)) if gone else ""


def _directories(inputs: PromptInputs, changed: set[str]) -> str:
    """The section of the folders. What an open file shows is repeated only if it changed."""
    if inputs.directories is None:
        return tagged("directories", _NO_DIRECTORIES)

    def told(file: re.Match[str]) -> str:
        opening, name, body, closing = file.groups()
        return f"{opening}{body if f'{_FILE}{name}' in changed else '(unchanged)'}{closing}"

    return _FILES.sub(told, inputs.directories)


def _metadata(inputs: PromptInputs, *, told_archival: bool) -> str:
    lines = [f"- Time of this update: {model_time(inputs.compiled_at, inputs.timezone)}", recall_line(inputs)]
    if told_archival:
        lines += [archival_line(inputs), f"- Available archival memory tags: {archival_tags(inputs) or '(none)'}"]
    return tagged("memory_metadata", "\n".join(lines))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
