"""The compiled system message: instructions, memory, and the metadata of external memory (RT 4.2, API 5.6).

Tags, labels and their order are Letta's, because clients match on them. The volatile part (time and counters) comes last, so that
providers can cache the text before it. Knows no store: the caller decides when to compile again, by comparing `digest`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime

from hibernaut.domain.prompt_tags import escaped, tag_of
from hibernaut.domain.times import model_time
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import Block
from hibernaut.schemas.runs.send import ClientSkill

FORM = 3
"""The version of the message's form: a stored message of another version is compiled again."""
PLACEHOLDER = "{CORE_MEMORY}"
"""The placeholder for memory in a system prompt; without it, memory follows the prompt. A second one stays as it is: memory may
be long, and a prompt could name it thousands of times.
"""

LINE_NUMBER_WARNING = (
    "The numbers before the arrows below (such as 1→) only show where a line stands. "
    "They are no part of the text: never write them into a memory tool's arguments."
)

_ABOUT_BLOCKS = (
    "This is your core memory: the blocks below are always in your view, and your memory tools edit them by their labels."
)
_ABOUT_SKILLS = "Skills that the user's side offers in this request. Read the file at a skill's location before you use it."


@immutable
class PromptInputs:
    """The inputs of a system message.

    `conversation` is "default" or a conversation's id; `blocks` are in the order of attachment; `rules_section` and `directories`
    are whole sections including their tags. `previous_messages` counts the messages that are stored but outside the window.
    `archival_stamp` changes whenever archival memory changes.
    """

    agent_id: str
    conversation: str
    system: str
    blocks: Sequence[Block]
    rules_section: str | None
    directories: str | None
    shows_memory: bool
    numbers_lines: bool
    timezone: str
    compiled_at: datetime
    previous_messages: int
    archival_memories: int
    archival_tags: Sequence[str]
    archival_stamp: str = ""


def digest(inputs: PromptInputs) -> str:
    """A hash of all inputs but the volatile ones: with an equal digest, compiling again would change nothing (invariant 10)."""
    parts = [
        FORM,
        inputs.agent_id,
        inputs.conversation,
        inputs.system,
        [[block.label, block.description, block.limit, block.read_only, block.value] for block in inputs.blocks],
        inputs.rules_section,
        inputs.directories,
        inputs.shows_memory,
        inputs.numbers_lines,
        inputs.timezone,
        sorted(inputs.archival_tags),
        inputs.archival_stamp,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def compile_prompt(inputs: PromptInputs) -> str:
    """The text of the system message."""
    memory = "\n\n".join(part for part in (core_memory_section(inputs), inputs.rules_section, inputs.directories) if part)
    placed = PLACEHOLDER in inputs.system
    system = inputs.system.replace(PLACEHOLDER, memory, 1) if placed else inputs.system
    sections = [tagged("base_instructions", system), "" if placed else memory, _metadata_section(inputs)]
    return "\n\n".join(section for section in sections if section)


def core_memory_section(inputs: PromptInputs) -> str:
    """The `<memory_blocks>` section; empty if there are no blocks, or if the agent's type shows none."""
    if not inputs.shows_memory or not inputs.blocks:
        return ""
    blocks = "\n\n".join(rendered for _, rendered in block_sections(inputs))
    return tagged("memory_blocks", f"{_ABOUT_BLOCKS}\n\n{blocks}")


def block_sections(inputs: PromptInputs) -> list[tuple[str, str]]:
    """The tag and the section of each block, in order; none if the agent's type shows none."""
    if not inputs.shows_memory:
        return []
    labels = [block.label for block in inputs.blocks]
    return [(tag_of(block.label), _block(block, labels, with_numbers=inputs.numbers_lines)) for block in inputs.blocks]


def skills_section(skills: Sequence[ClientSkill], labels: Sequence[str | None] = ()) -> str:
    """The section with the skills of a request, which is part of the system message of that request only. Empty without skills.

    `labels` are the labels of the blocks in the same message.
    """
    if not skills:
        return ""
    lines = "\n".join(f"- {skill.name} ({skill.location}): {skill.description}" for skill in skills)
    return tagged("available_skills", f"{_ABOUT_SKILLS}\n{escaped(lines, labels)}")


def tagged(tag: str, body: str) -> str:
    """A section: the body between its tags, each on a line of its own."""
    return f"<{tag}>\n{body}\n</{tag}>"


def _block(block: Block, labels: Sequence[str | None], *, with_numbers: bool) -> str:
    facts = [f"- chars_current={len(block.value)}", f"- chars_limit={block.limit}"]
    if block.read_only:
        facts.insert(0, "- read_only=true")
    parts = [tagged("description", escaped(block.description or "", labels)), tagged("metadata", "\n".join(facts))]
    value = escaped(block.value, labels)
    if with_numbers:
        value = "\n".join(f"{number}→ {line}" for number, line in enumerate(value.split("\n"), start=1))
        parts.append(tagged("warning", LINE_NUMBER_WARNING))
    parts.append(tagged("value", value))
    return tagged(tag_of(block.label), "\n".join(parts))


def _metadata_section(inputs: PromptInputs) -> str:
    lines = [
        f"- AGENT_ID: {inputs.agent_id}",
        f"- CONVERSATION_ID: {inputs.conversation}",
        f"- System prompt last recompiled: {model_time(inputs.compiled_at, inputs.timezone)}",
        recall_line(inputs),
    ]
    if inputs.archival_memories > 0:
        lines.append(archival_line(inputs))
    if inputs.archival_tags:
        lines.append(f"- Available archival memory tags: {archival_tags(inputs)}")
    return tagged("memory_metadata", "\n".join(lines))


def recall_line(inputs: PromptInputs) -> str:
    """The line of the metadata section that counts the messages outside the window."""
    return f"- {inputs.previous_messages} previous messages between you and the user are stored in recall memory"


def archival_line(inputs: PromptInputs) -> str:
    """The line of the metadata section that counts the passages."""
    return f"- {inputs.archival_memories} total memories you created are stored in archival memory (use tools to access them)"


def archival_tags(inputs: PromptInputs) -> str:
    """The tags of archival memory, in order, on one line."""
    tags = escaped(", ".join(sorted(inputs.archival_tags)), [block.label for block in inputs.blocks])
    return " ".join(tags.split())
