"""Nothing that somebody wrote becomes a tag of the compiled system message, and memory tools take what the message shows."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain import prompt_tags
from hibernaut.domain.files.file_views import ShownFile, ShownFolder, directories
from hibernaut.domain.memory.memory_edits import BlockEdited, apply
from hibernaut.domain.memory.system_prompt import PromptInputs, compile_prompt, skills_section
from hibernaut.domain.tools.tool_rules import prompt_section
from hibernaut.schemas.memory.block import Block
from hibernaut.schemas.names import SECTIONS, label_fault
from hibernaut.schemas.runs.send import ClientSkill
from hibernaut.schemas.tools.tool_rule import TerminalToolRule

NOW = datetime(2026, 3, 1, 9, 15, tzinfo=UTC)
LABELS = ["human", "team/goals", "a.b"]
NAMES = [*prompt_tags.TAGS, *LABELS, "humanity", "b"]
pieces = st.sampled_from(
    ["<", "</", ">", "/>", " ", "\n", "\t", "&lt;", "1→ ", '"', "{CORE_MEMORY}", *NAMES, *(name.upper() for name in NAMES)]
)
hostile = st.lists(pieces | st.text(max_size=2), max_size=12).map("".join)
tag = st.sampled_from(NAMES).flatmap(
    lambda name: st.sampled_from([f"<{name}>", f"</{name}>", f"< {name} x='1'>", f"</{name.upper()}"])
)
written = st.lists(hostile | tag, max_size=4).map("".join)


def tags(text: str) -> Counter[str]:
    """Everything in a prompt that a reader may take for one of our tags."""
    names = "|".join(map(re.escape, sorted([*prompt_tags.TAGS, *LABELS], key=len, reverse=True)))
    return Counter(found.lower() for found in re.findall(rf"<\s*(/?\s*(?:{names}))(?=[\s/>]|$)", text, re.IGNORECASE))


def compiled(texts: list[str], *, numbered: bool) -> str:
    value, description, tag, name, view, rule = texts
    file = ShownFile(name, 1, view)
    folders = [ShownFolder(name, description or "-", description or "-", [file])]
    inputs = PromptInputs(
        agent_id="agent-1",
        conversation="default",
        system="Be kind. {CORE_MEMORY}",
        blocks=[Block(id=f"block-{label}", label=label, value=value, description=description) for label in LABELS],
        rules_section=prompt_section([TerminalToolRule(tool_name=rule)], LABELS),
        directories=directories(folders, most=1, limit=1000, labels=LABELS),
        shows_memory=True,
        numbers_lines=numbered,
        timezone="UTC",
        compiled_at=NOW,
        previous_messages=0,
        archival_memories=1,
        archival_tags=[tag],
    )
    skills = skills_section([ClientSkill(name=name, description=description, location=value)], LABELS)
    return f"{compile_prompt(inputs)}\n{skills}"


@given(st.lists(written, min_size=6, max_size=6), st.booleans())
def test_no_text_becomes_one_of_our_tags(texts: list[str], numbered: bool) -> None:
    assert tags(compiled(texts, numbered=numbered)) == tags(compiled(["x"] * 6, numbered=numbered))


@given(written)
def test_only_the_bracket_of_our_own_tags_is_written_otherwise(text: str) -> None:
    shown = prompt_tags.escaped(text, LABELS)
    assert shown.replace("&lt;", "<") == text.replace("&lt;", "<")
    if "&lt;" not in text:
        assert prompt_tags.plain(shown, LABELS) == text
    if not tags(text):
        assert shown == text


@given(written.filter(lambda text: text and "→" not in text and "\t" not in text and "\x00" not in text), st.booleans())
def test_a_memory_tool_takes_the_value_as_it_is_stored_and_as_it_is_shown(value: str, stored: bool) -> None:
    blocks = [Block(id="block-1", label="human", value=value)]
    given_text = value if stored else prompt_tags.escaped(value, ["human"])
    result = apply("memory_replace", {"label": "human", "old_string": given_text, "new_string": "new"}, blocks)
    if value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") == value:
        assert result.changes == (BlockEdited("human", "new"),)


@given(st.text(max_size=20))
def test_a_legal_label_is_a_tag_of_one_line(label: str) -> None:
    if label and label_fault(label) is None:
        assert prompt_tags.tag_of(label) == (label.lstrip("/ ") or "block")
        assert len(label.splitlines()) == 1
        assert not set("<>") & set(label)
    assert label_fault("team/goals") is None


AROUND = st.lists(st.sampled_from(["/", " ", "\u00a0", "\u200b", "\u2060", "\ufeff", "//", "\t"]), max_size=3).map("".join)


@given(st.sampled_from(sorted(SECTIONS)), AROUND, st.sampled_from(["", " ", " priority=1", "/", "/x", "\u200b"]), st.booleans())
def test_no_label_is_read_as_the_tag_of_a_section(section: str, before: str, behind: str, upper: bool) -> None:
    label = f"{before}{section.upper() if upper else section}{behind}"
    assert label_fault(label) is not None
    assert prompt_tags.tag_of(label) == "block"


@pytest.mark.parametrize("label", ["ｄirectories", "memory_𝐛locks", "base\u200d_instructions"])
def test_no_label_looks_like_the_tag_of_a_section(label: str) -> None:
    assert label_fault(label) is not None


@pytest.mark.parametrize(
    "label", ["human", "skills/directories", "my directories", "directories_of_mine", "/notes", "file", "👩‍💻"]
)
def test_other_labels_are_free(label: str) -> None:
    assert label_fault(label) is None
