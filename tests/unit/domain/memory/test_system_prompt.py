"""The compiled system message, byte for byte where clients match on it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hibernaut.domain.memory.system_prompt import (
    LINE_NUMBER_WARNING,
    PromptInputs,
    compile_prompt,
    core_memory_section,
    digest,
    skills_section,
)
from hibernaut.schemas.memory.block import Block
from hibernaut.schemas.runs.send import ClientSkill

HUMAN = Block(id="block-1", label="human", value="Ann\nlikes tea", description="the user", limit=500)
RULES = Block(id="block-2", label="rules", value="", limit=9, read_only=True)
INPUTS = PromptInputs(
    agent_id="agent-1",
    conversation="default",
    system="Be good.",
    blocks=[HUMAN, RULES],
    rules_section="<tool_usage_rules>\nrules\n</tool_usage_rules>",
    directories="<directories>\nfiles\n</directories>",
    shows_memory=True,
    numbers_lines=False,
    timezone="UTC",
    compiled_at=datetime(2026, 3, 1, 9, 15, tzinfo=UTC),
    previous_messages=57,
    archival_memories=12,
    archival_tags=["b", "a"],
)
BLOCKS = """\
<human>
<description>
the user
</description>
<metadata>
- chars_current=13
- chars_limit=500
</metadata>
<value>
Ann
likes tea
</value>
</human>

<rules>
<description>

</description>
<metadata>
- read_only=true
- chars_current=0
- chars_limit=9
</metadata>
<value>

</value>
</rules>
</memory_blocks>"""
METADATA = """\
<memory_metadata>
- AGENT_ID: agent-1
- CONVERSATION_ID: default
- System prompt last recompiled: 2026-03-01 09:15:00 AM UTC+0000
- 57 previous messages between you and the user are stored in recall memory
- 12 total memories you created are stored in archival memory (use tools to access them)
- Available archival memory tags: a, b
</memory_metadata>"""


def test_the_sections_stand_in_their_order() -> None:
    memory = core_memory_section(INPUTS)
    assert compile_prompt(INPUTS) == "\n\n".join(
        [
            "<base_instructions>\nBe good.\n</base_instructions>",
            memory,
            "<tool_usage_rules>\nrules\n</tool_usage_rules>",
            "<directories>\nfiles\n</directories>",
            METADATA,
        ]
    )
    assert memory.startswith("<memory_blocks>\n")
    assert memory.split("\n\n", 1)[1] == BLOCKS


def test_numbered_lines_come_with_a_warning() -> None:
    text = core_memory_section(replace(INPUTS, numbers_lines=True))
    assert f"</metadata>\n<warning>\n{LINE_NUMBER_WARNING}\n</warning>\n<value>\n1→ Ann\n2→ likes tea\n</value>\n</human>" in text
    assert "<value>\n1→ \n</value>\n</rules>" in text


def test_memory_stands_where_the_prompt_wants_it() -> None:
    text = compile_prompt(replace(INPUTS, system="Before. {CORE_MEMORY} After.", blocks=[replace_value(HUMAN, "{CORE_MEMORY}")]))
    assert text.startswith("<base_instructions>\nBefore. <memory_blocks>\n")
    assert "</directories> After.\n</base_instructions>\n\n<memory_metadata>" in text
    assert text.count("<memory_blocks>") == 1
    assert "<value>\n{CORE_MEMORY}\n</value>" in text


def replace_value(block: Block, value: str) -> Block:
    return block.model_copy(update={"value": value})


def test_a_type_that_shows_no_memory_still_shows_rules_and_files() -> None:
    text = compile_prompt(replace(INPUTS, shows_memory=False))
    assert "<memory_blocks>" not in text
    assert "</base_instructions>\n\n<tool_usage_rules>" in text
    assert "<directories>" in text


def test_what_there_is_not_leaves_no_trace() -> None:
    bare = replace(INPUTS, blocks=[], rules_section=None, directories=None, archival_memories=0, archival_tags=[])
    assert compile_prompt(bare) == (
        "<base_instructions>\nBe good.\n</base_instructions>\n\n" + "\n".join(METADATA.split("\n")[:5]) + "\n</memory_metadata>"
    )


def test_a_single_archival_memory_is_counted() -> None:
    assert "- 1 total memories you created" in compile_prompt(replace(INPUTS, archival_memories=1))


def test_time_and_counters_leave_the_digest_and_everything_before_them_alone() -> None:
    later = replace(INPUTS, compiled_at=datetime(2027, 1, 1, tzinfo=UTC), previous_messages=99, archival_memories=13)
    assert digest(later) == digest(INPUTS)
    texts = [compile_prompt(inputs).partition("- System prompt last recompiled") for inputs in (INPUTS, later)]
    assert texts[0][0] == texts[1][0]
    assert texts[0] != texts[1]


@pytest.mark.parametrize(
    "change",
    [
        {"agent_id": "agent-2"},
        {"conversation": "conv-1"},
        {"system": "Be better."},
        {"blocks": [RULES, HUMAN]},
        {"blocks": [HUMAN]},
        *({"blocks": [HUMAN.model_copy(update={name: value}), RULES]} for name, value in [
            ("value", "Ben"), ("label", "user"), ("description", "x"), ("limit", 501), ("read_only", True),
        ]),
        {"rules_section": None},
        {"directories": None},
        {"shows_memory": False},
        {"numbers_lines": True},
        {"timezone": "Europe/Oslo"},
        {"archival_tags": ["a"]},
    ],
)  # fmt: skip
def test_whatever_else_the_model_would_see_changes_the_digest(change: dict[str, Any]) -> None:
    changed = replace(INPUTS, **change)
    assert digest(changed) != digest(INPUTS)
    assert compile_prompt(changed) != compile_prompt(INPUTS)


def test_the_order_of_tags_means_nothing() -> None:
    swapped = replace(INPUTS, archival_tags=["a", "b"])
    assert (digest(swapped), compile_prompt(swapped)) == (digest(INPUTS), compile_prompt(INPUTS))


def test_skills_are_listed_for_one_request() -> None:
    text = skills_section([ClientSkill(name="pdf", description="reads PDF files", location="skills/pdf.md")])
    assert text.startswith("<available_skills>\n")
    assert text.endswith("- pdf (skills/pdf.md): reads PDF files\n</available_skills>")
    assert skills_section([]) == ""


def test_memory_stands_once_however_often_the_prompt_names_it() -> None:
    text = compile_prompt(replace(INPUTS, system="{CORE_MEMORY}" * 1000))
    assert text.count("<memory_blocks>") == 1
