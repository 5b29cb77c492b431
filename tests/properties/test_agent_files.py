"""An agent file that is imported and exported says the same, but for ids and times (RT 12)."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.agent_documents import exported, imported, lasting, world_in
from tests.support.agent_file_parts import SOURCE, file_of, message, talked
from tests.support.agent_file_shapes import SKILLS

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=40)
NAMES = st.text("abcXYZ 012_-'", min_size=1, max_size=20).filter(str.strip)
LABELS = st.lists(st.text("abc/_-. é", min_size=1, max_size=12), max_size=4, unique=True)
PARTS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text, "signature": None}, TEXTS),
    st.builds(lambda text: {"type": "reasoning", "is_native": True, "reasoning": text, "signature": "c2ln"}, TEXTS),
    st.just({"type": "omitted_reasoning", "signature": None}),
)
RULES = st.sampled_from([
    {"type": "exit_loop", "tool_name": "knock_0", "prompt_template": None},
    {"type": "max_count_per_step", "tool_name": "knock_1", "prompt_template": None, "max_count_limit": 2},
    {"type": "constrain_child_tools", "tool_name": "knock_0", "prompt_template": None, "children": ["knock_1"], "child_arg_nodes": None},
])  # fmt: skip


@st.composite
def _turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A valid log behind its system message."""
    rows: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(0, 4))):
        rows.append({"role": "user", "content": [{"type": "text", "text": draw(TEXTS), "signature": None}]})
        calls = [f"call-{turn}-{number}" for number in range(draw(st.integers(0, 2)))]
        made = [
            {"id": one, "type": "function", "function": {"name": "knock_0", "arguments": json.dumps({"x": draw(TEXTS)})}}
            for one in calls
        ]
        rows.append(
            {"role": "assistant", "content": draw(st.lists(PARTS, max_size=2)), "tool_calls": made or None, "model": "own"}
        )
        if calls:
            returns = [
                {
                    "tool_call_id": one,
                    "status": draw(st.sampled_from(["success", "error"])),
                    "func_response": draw(TEXTS),
                    "stdout": ["a", "a"],
                    "stderr": None,
                }
                for one in calls
            ]
            rows.append({"role": "tool", "tool_returns": returns, "tool_call_id": calls[0], "name": "knock_0"})
    return [{**message(number, row["role"]), **row} for number, row in enumerate(rows, 1)]


@st.composite
def _documents(draw: st.DrawFn) -> dict[str, Any]:
    labels = sorted(draw(LABELS))
    rows, window = draw(_turns()), draw(st.integers(0, 3))
    made = talked(
        *rows,
        name=draw(NAMES),
        agent_type=draw(st.sampled_from(["letta_v1_agent", "memgpt_agent", "memgpt_v2_agent", "react_agent"])),
        system=draw(TEXTS),
        description=draw(st.none() | TEXTS),
        metadata=draw(
            st.none() | st.dictionaries(st.text("ab", min_size=1, max_size=3), TEXTS | st.integers(-9, 9) | st.none(), max_size=3)
        ),
        tags=draw(st.lists(st.text("ab/c", min_size=1, max_size=6), max_size=3, unique=True)),
        tool_rules=draw(st.lists(RULES, max_size=2, unique_by=lambda rule: str(rule))),
        llm_config={"handle": "test/own", "model": "own", "context_window": draw(st.integers(4_000, 90_000))},
        timezone=draw(st.sampled_from(["UTC", "Europe/Oslo"])),
        hidden=draw(st.none() | st.booleans()),
        block_ids=draw(st.permutations([f"block-{number}" for number in range(len(labels))])),
        tool_ids=draw(st.permutations(["tool-0", "tool-1"])),
        secrets=dict.fromkeys(draw(st.lists(st.text("AB", min_size=1, max_size=4), max_size=2, unique=True)), ""),
        max_files_open=draw(st.integers(1, 9)),
        message_buffer_autoclear=draw(st.booleans()),
    )
    made["in_context_message_ids"] = [made["messages"][0]["id"], *(row["id"] for row in rows[max(0, len(rows) - window) :])]
    blocks = [
        {"id": f"block-{number}", "label": label, "value": draw(TEXTS), "limit": draw(st.integers(50, 9_000)), "read_only": draw(st.booleans())}
        for number, label in enumerate(labels)
    ]  # fmt: skip
    tools = [_tool(f"knock_{number}", number, draw(st.integers(1, 900_000))) for number in range(2)]
    file = file_of(made, blocks=blocks, tools=tools, skills=draw(st.sampled_from([[], SKILLS[:1]])))
    return {**file, "hibernaut": draw(_extensions(bool(labels)))}


@st.composite
def _extensions(draw: st.DrawFn, has_blocks: bool) -> dict[str, Any]:
    """Archives, identities and conversations of the agent; each part may be missing, and is left out then as in an export."""
    at = st.integers(1, 28).map(lambda day: f"2026-01-{day:02d}T00:00:00.000000Z")
    passages = st.fixed_dictionaries(
        {
            "text": TEXTS.filter(str.strip),
            "tags": st.none() | st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=2, unique=True),
            "metadata": st.dictionaries(st.text("ab", min_size=1, max_size=3), TEXTS, max_size=2),
            "created_at": at,
        }
    )
    archives = [
        {
            "id": f"archive-{number}",
            "name": draw(NAMES),
            "passages": sorted(draw(st.lists(passages, max_size=4)), key=lambda one: str(one["created_at"])),
        }
        for number in range(draw(st.integers(0, 2)))
    ]
    identities = [
        {"id": f"identity-{number}", "identifier_key": f"key {number}", "name": draw(NAMES), "identity_type": draw(st.sampled_from(["user", "org", "other"])),
         "properties": draw(st.sampled_from([[], [{"key": "k", "value": 5, "type": "number"}]]))}
        for number in range(draw(st.integers(0, 2)))
    ]  # fmt: skip
    conversations = []
    for number in range(draw(st.integers(0, 2))):
        rows = [{**row, "id": f"message-{100 * (number + 1) + at}"} for at, row in enumerate(draw(_turns()))]
        private = {
            "block_id": "block-0",
            "block": draw(st.none() | TEXTS.map(lambda text: {"label": "private", "value": text, "limit": 500})),
        }
        shown = {"summary": draw(st.none() | TEXTS), "archived": draw(st.booleans()), "hidden": draw(st.booleans())}
        isolated = [private] if has_blocks and draw(st.booleans()) else []
        conversations.append({**shown, "isolated_blocks": isolated, "created_at": draw(at), "messages": rows})
    named = {
        "archive_ids": [one["id"] for one in archives],
        "identity_ids": [one["id"] for one in identities],
        "conversations": conversations,
    }
    own = {name: one for name, one in named.items() if one}
    made = {"archives": archives, "identities": identities, "agents": {"agent-0": own} if own else {}}
    return {name: one for name, one in made.items() if one}


def _tool(name: str, number: int, limit: int) -> dict[str, Any]:
    schema = {"name": name, "description": "d", "parameters": {"type": "object", "properties": {}}}
    source = SOURCE.replace("knock", name)
    return {
        "id": f"tool-{number}",
        "name": name,
        "tool_type": "custom",
        "source_type": "python",
        "source_code": source,
        "json_schema": schema,
        "return_char_limit": limit,
        "tags": ["x"],
    }


def within(small: Any, large: Any) -> bool:
    """Whether everything that `small` says is said by `large` as well: an export names more fields than a file has to."""
    if isinstance(small, dict) and isinstance(large, dict):
        return all(name in large and within(one, large[name]) for name, one in small.items())
    if isinstance(small, list) and isinstance(large, list):
        return len(small) == len(large) and all(map(within, small, large))
    return bool(small == large)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_documents())
def test_a_file_that_is_imported_is_exported_as_it_was(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = world_in(Path(folder))
        try:
            (agent_id,) = imported(world, copy.deepcopy(document), append_copy_suffix=False).agent_ids
            first = exported(world, agent_id, full_history=True)
            told = lasting(document)
            del told["metadata"], told["agents"][0]["embedding_config"]
            for one in told["hibernaut"].get("agents", {}).get("agent-0", {}).get("conversations", ()):
                own = [{name: part for name, part in row.items() if name != "id"} for row in one["messages"]]
                one["messages"] = [{"role": "system"}, *own]  # an export has the prompt too, and numbers all messages
            assert within(told, lasting(first)), (told, lasting(first))
            (again,) = imported(world, copy.deepcopy(first), append_copy_suffix=False).agent_ids
            assert lasting(exported(world, again, full_history=True)) == lasting(first)
        finally:
            world.data.table.close()  # type: ignore[attr-defined]
