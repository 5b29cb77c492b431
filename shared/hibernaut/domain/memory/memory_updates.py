"""The changes of an agent's memory since its model last received it, as a section that a newer message carries.

The system message stays frozen for a window, because providers cache the beginning of a prompt and bind signed thinking to it. An
update names each changed part with its whole new value, so the newest value that a model finds is the current one. Pure; knows
neither log nor store.
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

UPDATES_SHARE, UPDATES_TOKENS = 0.25, 2_000
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
    """The place of an update. `message_id`: the newest row that no request has contained; None: there is none that can carry it.
    `at`: the time of that row, so that a second attempt at a step has the same text. `window_tokens`: the size of the window.
    """

    message_id: str | None
    at: datetime
    window_tokens: int


def frozen_prompt(inputs: PromptInputs) -> FrozenPrompt:
    """A system message that was compiled just now: the model receives all of it."""
    return FrozenPrompt(basis=_basis(inputs), shown=_hashes(inputs))


def continued(before: FrozenPrompt, inputs: PromptInputs, place: UpdatePlace) -> FrozenPrompt | None:
    """The frozen system message with one more update, if anything changed that the model receives.

    None: it must be frozen anew, because something else than memory changed, because no message can carry the update, or because
    the updates would become too many.
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
    if before.update_tokens + update.tokens > max(UPDATES_TOKENS, UPDATES_SHARE * place.window_tokens):
        return None
    return before.model_copy(update={"shown": now, "updates": [*before.updates, update]})


def update_text(known_hashes: Mapping[str, str], inputs: PromptInputs) -> str | None:
    """The section with the differences from the parts with `known_hashes`, which the model has received; None if there is
    none.
    """
    current_hashes = _hashes(inputs)
    changed_keys = {key for key in {*known_hashes, *current_hashes} if known_hashes.get(key) != current_hashes.get(key)}
    if not changed_keys:
        return None
    sections = [
        _blocks(inputs, changed_keys),
        _removed(known_hashes, current_hashes),
        (inputs.rules_section or tagged("tool_usage_rules", _NO_RULES)) if _RULES in changed_keys else "",
        _directories(inputs, changed_keys) if _DIRECTORIES in changed_keys else "",
        _metadata(inputs, with_archival=_ARCHIVAL in changed_keys),
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


def _blocks(inputs: PromptInputs, changed_keys: set[str]) -> str:
    changed_sections = [section for tag, section in block_sections(inputs) if f"{_BLOCK}{tag}" in changed_keys]
    return tagged("memory_blocks", "\n\n".join(changed_sections)) if changed_sections else ""


def _removed(known_hashes: Mapping[str, str], current_hashes: Mapping[str, str]) -> str:
    removed_tags = [key.removeprefix(_BLOCK) for key in known_hashes if key.startswith(_BLOCK) and key not in current_hashes]
    return tagged("removed_blocks", "\n".join(f"- {tag}" for tag in removed_tags)) if removed_tags else ""


def _directories(inputs: PromptInputs, changed_keys: set[str]) -> str:
    """The section of the folders. The text of an open file is repeated only if it changed."""
    if inputs.directories is None:
        return tagged("directories", _NO_DIRECTORIES)

    def shortened(file: re.Match[str]) -> str:
        opening, name, body, closing = file.groups()
        return f"{opening}{body if f'{_FILE}{name}' in changed_keys else '(unchanged)'}{closing}"

    return _FILES.sub(shortened, inputs.directories)


def _metadata(inputs: PromptInputs, *, with_archival: bool) -> str:
    lines = [f"- Time of this update: {model_time(inputs.compiled_at, inputs.timezone)}", recall_line(inputs)]
    if with_archival:
        lines += [archival_line(inputs), f"- Available archival memory tags: {archival_tags(inputs) or '(none)'}"]
    return tagged("memory_metadata", "\n".join(lines))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
