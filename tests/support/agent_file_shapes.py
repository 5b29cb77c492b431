"""Agent files of the shapes that published ones have: made here, each for one peculiarity (RT 12.5). None is a
copy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.agent_file_parts import (
    AT,
    CONFIG,
    EMBEDDING,
    Document,
    agent,
    block,
    call,
    file_of,
    message,
    returned,
    talked,
    tool,
)


def _legacy(**fields: Any) -> Document:
    rows = [
        message(0, "system", "old"),
        message(1, "user", "Hi"),
        message(2, "assistant", None, tool_calls=[call("c1", "send_message", message="Hello")]),
        returned(3, "c1"),
    ]
    for row in rows:
        del row["id"]
    return {
        "agent_type": "memgpt_agent",
        "name": "Old",
        "system": "You are old.",
        "llm_config": CONFIG,
        "embedding_config": EMBEDDING,
        "core_memory": [{"label": "human", "value": "Ann", "limit": 2_000, "created_at": AT, "metadata_": {"a": 1}}],
        "messages": rows,
        "in_context_message_indices": [0, 1, 2, 3],
        "tools": [tool(0, "knock"), tool(1, "send_message", "letta_core")],
        "tool_rules": [{"type": "exit_loop", "tool_name": "send_message", "prompt_template": "{{ tool_name }} ends it."}],
        "tags": [{"tag": "old"}],
        "tool_exec_environment_variables": [],
        "metadata_": {"from": "then"},
        "multi_agent_group": None,
        "message_buffer_autoclear": False,
        "version": "0.6.47",
        **fields,
    }


def _first_legacy() -> Document:
    rules = [{"type": "TerminalToolRule", "tool_name": "send_message"}, {"type": "InitToolRule", "tool_name": "knock"}]
    rows = [{"role": "system", "text": "old"}, {"role": "user", "text": "Hi", "created_at": AT}]
    variables = [{"key": "TOKEN", "value": "", "description": None}]
    return _legacy(
        tool_rules=rules,
        messages=rows,
        in_context_message_indices=[0, 1, 7],
        tool_exec_environment_variables=variables,
        tags=["plain"],
        agent_type="offline_memory_agent",
    )


def _reasoning() -> Document:
    kinds = (
        {"type": "reasoning", "is_native": True, "reasoning": "I think.", "signature": "c2ln"},
        {"type": "redacted_reasoning", "data": "b64"},
        {"type": "omitted_reasoning", "signature": "s"},
        {"type": "summarized_reasoning", "id": "rs_1", "summary": [{"index": 0, "text": "short"}], "encrypted_content": "e"},
        {"type": "reasoning", "is_native": False, "reasoning": "By hand.", "signature": None},
    )
    rows = []
    for number in range(1, 192):
        said = message(number, "user", f"Question {number}") if number % 2 else message(number, "assistant", f"Answer {number}")
        if number % 2 == 0:
            said["content"].insert(0, kinds[number // 2 % len(kinds)])
        rows.append(said)
    return file_of(talked(*rows))


def _approvals() -> Document:
    request = message(2, "approval", "I would knock.", tool_calls=[call("c1", door="front")])
    answer = message(
        3,
        "approval",
        approve=True,
        approval_request_id="message-2",
        approvals=[{"type": "approval", "tool_call_id": "c1", "approve": True, "reason": None}],
    )
    denied = message(6, "approval", approve=False, approval_request_id="message-5", denial_reason="no")
    last = message(8, "approval", None, tool_calls=[call("c3", door="side")])
    again = message(5, "approval", None, tool_calls=[call("c2", door="back")])
    rows = [
        message(1, "user", "Knock"),
        request,
        answer,
        returned(4, "c1"),
        again,
        denied,
        returned(7, "c2", status="error"),
        last,
    ]
    rules = [{"type": "requires_approval", "tool_name": "knock"}]
    return file_of(talked(*rows, tool_ids=["tool-0"], tool_rules=rules), tools=[tool(0, "knock")])


def _calls_without_a_return() -> Document:
    rows = [
        message(1, "user", "Knock"),
        message(2, "assistant", None, tool_calls=[call("c1", door="front"), call("c2", door="back")]),
        message(3, "user", "Hello?"),
        message(4, "assistant", "Wait.", tool_calls=[call("c3")]),
        message(5, "assistant", None, tool_calls=[call("c4")]),
        returned(6, "c4"),
        message(7, "assistant", None, tool_calls=[call("c5")]),
    ]
    return file_of(talked(*rows, tool_ids=["tool-0"]), tools=[tool(0, "knock")])


def _open_files() -> Document:
    folder = {
        "id": "source-0",
        "name": "papers",
        "description": "of then",
        "instructions": None,
        "metadata": None,
        "embedding_config": EMBEDDING,
        "embedding": "openai/text-embedding-3-small",
    }
    text = "\n".join(f"line {number}" for number in range(1, 60))
    files = [
        {"id": "file-0", "source_id": "source-0", "file_name": "papers/a.pdf", "original_file_name": "a.pdf", "content": text},
        {"id": "file-1", "source_id": "source-0", "file_name": "b.txt", "original_file_name": "b.txt", "content": "two"},
        {"id": "file-2", "source_id": "source-0", "file_name": "c.txt", "content": None},
    ]
    attached = [
        {
            "id": "0d6c9c2e-uuid",
            "agent_id": "agent-0",
            "file_id": "file-0",
            "source_id": "source-0",
            "is_open": True,
            "start_line": 3,
            "end_line": 9,
            "visible_content": "old",
        },
        {"id": "x", "agent_id": "agent-0", "file_id": "file-1", "source_id": "source-0", "is_open": False},
        {"id": "y", "agent_id": "agent-0", "file_id": "file-9", "source_id": "source-0", "is_open": True},
    ]
    tools = [tool(0, "open_files", "letta_files_core"), tool(1, "grep_files", "letta_files_core")]
    return file_of(
        talked(source_ids=["source-0"], files_agents=attached, tool_ids=["tool-0", "tool-1"]),
        sources=[folder],
        files=files,
        tools=tools,
    )


def _null_contents() -> Document:
    part = {"type": "text", "text": None, "signature": None}
    rows = [
        message(1, "user") | {"content": None},
        message(2, "assistant") | {"content": None},
        message(3, "user") | {"content": [part]},
        message(4, "assistant") | {"content": "a bare text"},
        message(5, "user", "Fine", name=None, tool_calls=None, tool_returns=None),
    ]
    return file_of(talked(*rows))


def _pair() -> Document:
    main = talked(message(1, "user", "Hi"), block_ids=["block-0"], group_ids=["group-0"], enable_sleeptime=False)
    sleeper = agent(
        id="agent-1", name="Ada-sleeptime", agent_type="sleeptime_agent", block_ids=["block-0", "block-1"], group_ids=["group-0"]
    )
    group = {
        "id": "group-0",
        "agent_ids": ["agent-1"],
        "description": "",
        "manager_config": {"manager_type": "sleeptime", "manager_agent_id": "agent-0", "sleeptime_agent_frequency": 5},
    }
    return file_of(main, sleeper, groups=[group], blocks=[block(0, "human"), block(1, "memory_persona")])


def _rules() -> Document:
    rules = [
        {"type": "run_first", "tool_name": "knock", "prompt_template": None},
        {
            "type": "constrain_child_tools",
            "tool_name": "knock",
            "children": ["enter"],
            "child_arg_nodes": [{"name": "enter", "args": {"door": "x"}}],
        },
        {
            "type": "conditional",
            "tool_name": "enter",
            "default_child": "knock",
            "child_output_mapping": {"yes": "send_message"},
            "require_output_mapping": False,
        },
        {"type": "exit_loop", "tool_name": "send_message", "prompt_template": "<b>ends</b>"},
        {"type": "max_count_per_step", "tool_name": "knock", "max_count_limit": 3},
        {"type": "parent_last_tool", "tool_name": "knock", "children": ["enter"]},
        {"type": "a_rule_of_tomorrow", "tool_name": "knock"},
    ]
    tools = [tool(0, "knock"), tool(1, "enter"), tool(2, "send_message", "letta_core")]
    return file_of(talked(agent_type="memgpt_agent", tool_rules=rules, tool_ids=["tool-0", "tool-1", "tool-2"]), tools=tools)


def _kinds_of_tools() -> Document:
    kinds = {
        "knock": "custom",
        "conversation_search": "letta_core",
        "memory_insert": "letta_memory_core",
        "memory_finish_edits": "letta_sleeptime_core",
        "web_search": "letta_builtin",
        "grep_files": "letta_files_core",
        "send_message_to_agent_async": "letta_multi_agent_core",
        "search_issues": "external_mcp",
        "a_tool_of_tomorrow": "letta_core",
    }
    tools = [tool(number, name, kind) for number, (name, kind) in enumerate(kinds.items())]
    return file_of(talked(tool_ids=[one["id"] for one in tools]), tools=tools)


def _summary_window() -> Document:
    rows = [message(number, "user" if number % 2 else "assistant", f"row {number}") for number in range(1, 9)]
    summary = message(9, "summary", "What was said before.")
    made = talked(*rows[:6], summary, *rows[6:])
    made["in_context_message_ids"] = ["message-0", "message-9", "message-7", "message-8"]
    return file_of(made)


def _odd_ids() -> Document:
    made = talked(message(1, "user", "Hi"), block_ids=["block-9f6e"], tool_ids=["tool-abc"])
    document = file_of(made, blocks=[{**block(0, "human"), "id": "block-9f6e"}], tools=[{**tool(0, "knock"), "id": "tool-abc"}])
    del document["skills"], document["groups"], document["mcp_servers"]
    return document


def _odd_messages() -> Document:
    rows = [
        returned(1, "nobody"),
        message(2, "user", "Hi"),
        message(3, "critic", "of no known role"),
        message(4, "assistant") | {"content": [{"type": "hologram", "data": 1}, {"type": "text", "text": "seen"}]},
        message(5, "assistant", None, tool_calls=[{"id": None, "function": {"name": "knock", "arguments": {"door": "x"}}}]),
        message(6, "tool", json.dumps({"status": "Failed", "message": "no"}), tool_call_id=None, tool_returns=[]),
        message(7, "system", "A notice in the middle."),
    ]
    return file_of(talked(*rows))


def _typescript() -> Document:
    script = tool(
        0,
        "greet",
        source_type="typescript",
        source_code="export function greet() {}",
        npm_requirements=[{"name": "left-pad", "version": "1.0.0"}],
    )
    derived = tool(
        1,
        "knock",
        json_schema=None,
        pip_requirements=[{"name": "httpx"}],
        default_requires_approval=True,
        return_char_limit=9_000_000,
    )
    sourceless = tool(2, "lost", source_code=None)
    return file_of(talked(tool_ids=["tool-0", "tool-1", "tool-2"]), tools=[script, derived, sourceless])


def _lost_references() -> Document:
    made = talked(
        name="Кира: v1.2 (beta)",
        block_ids=["block-0", "block-9"],
        tool_ids=["tool-9"],
        source_ids=["source-9"],
        identity_ids=["identity-x"],
        agent_type="agent_of_tomorrow",
    )
    return file_of(made, blocks=[block(0, "human")])


def _labels() -> Document:
    blocks = [block(number, f"people/team {number % 9}/person_{number}", f"value {number}") for number in range(54)]
    return file_of(talked(block_ids=[one["id"] for one in blocks]), blocks=blocks)


def _over_the_limit() -> Document:
    blocks = [
        block(0, "human", "x" * 6_000, limit=5_000),
        block(1, None, None),
        block(2, "human", "again", read_only=True),
        block(3, "<b>", "y\x00z"),
    ]
    return file_of(talked(block_ids=[one["id"] for one in blocks]), blocks=blocks)


def _shared() -> Document:
    both = {"block_ids": ["block-0"], "tool_ids": ["tool-0"]}
    agents = [agent(id=f"agent-{number}", name=f"Worker {number}", tags=["worker"], **both) for number in range(3)]
    return file_of(*agents, blocks=[block(0, "shared")], tools=[tool(0, "knock")])


def _parallel() -> Document:
    calls = message(2, "assistant", "Both.", tool_calls=[call("p1", door="a"), call("p2", door="b")])
    rows = [
        message(1, "user", '{"type": "user_message", "message": "Knock twice", "time": "then"}'),
        calls,
        returned(3, "p1", "p2"),
        message(4, "assistant", "Done."),
    ]
    return file_of(talked(*rows, tool_ids=["tool-0"]), tools=[tool(0, "knock")])


SKILLS = [
    {"name": f"skill-{number}", "files": {"SKILL.md": "---\nname: x\n---\nDo it."}, "source_url": None} for number in range(4)
]
SHAPES: Mapping[str, Callable[[], Any]] = {
    "an agent with little more than a name": lambda: file_of({"id": "agent-0", "name": "Ada"}),
    "no messages at all, and four skills": lambda: file_of(agent(), skills=SKILLS),
    "a JSON text within a JSON text": lambda: json.dumps(json.dumps(file_of(talked(message(1, "user", "Hi"))))),
    "the older form": _legacy,
    "the first form": _first_legacy,
    "tools of an MCP server that is not in the file": lambda: file_of(
        talked(tool_ids=["tool-0"]), tools=[tool(0, "search_issues", "external_mcp", tags=["mcp:github"])]
    ),
    "secrets without values": lambda: file_of(
        talked(secrets={"KEY": "", "OTHER": ""}, tool_exec_environment_variables={"KEY": "", "OTHER": ""})
    ),
    "variables under their old name alone": lambda: file_of(talked(tool_exec_environment_variables={"KEY": "", "WITH": "value"})),
    "54 labels with a slash": _labels,
    "blocks over their limit": _over_the_limit,
    "191 messages with reasoning": _reasoning,
    "rows of approvals": _approvals,
    "calls without a return": _calls_without_a_return,
    "open files": _open_files,
    "contents that are null": _null_contents,
    "an agent with a sleeper": _pair,
    "three agents that share a block and a tool": _shared,
    "rules of all types": _rules,
    "models that nobody serves": lambda: file_of(
        talked(
            llm_config={**CONFIG, "handle": "letta/letta-free", "model": "letta-free", "model_endpoint_type": "openai"},
            fallback_models=["nobody/serves-it"],
        )
    ),
    "tools of all kinds": _kinds_of_tools,
    "a window that begins with a summary": _summary_window,
    "other ids, and no list of skills": _odd_ids,
    "messages of no known form": _odd_messages,
    "tools in TypeScript, without a schema, without a source": _typescript,
    "references to nothing, and a name that is not allowed": _lost_references,
    "calls that were made together": _parallel,
}
"""The shapes by what is peculiar about each."""
