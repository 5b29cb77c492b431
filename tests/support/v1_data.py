"""What a small Letta server has, as rows of V1's tables at its last release. The tables are made for `tests/local/migrating`
after the facts of the schema.

Everything that a migration meets: an agent with a log that is longer than its window, calls, returns and an approval, a
sleep-time pair that shares a block, a hidden agent with rows of an early release, tools of all kinds, archives of agents and of
none, a folder, an identity.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

Row = dict[str, Any]
Tables = dict[str, list[Row]]
ORGANIZATION = "org-00000000-0000-4000-8000-000000000000"
BEGUN = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
NOBODY = "http://127.0.0.1:65500/mcp"
"""The address of the MCP server: nothing answers there, unless a test has a server of its own."""
TURNS = 6
"""The number of calls and answers in the log of the first agent; the window has the last two."""
SOURCE = 'def knock{seed}(door: str):\n    """Knock.\n\n    Args:\n        door: which one\n    """\n    return door\n'


@dataclass(frozen=True)
class Names:
    """The ids of the records of one server. Those of two seeds differ."""

    seed: int

    def id(self, kind: str, number: int) -> str:
        return f"{kind}-{self.seed:08x}-{number:04x}-4000-8000-{number:012x}"

    @property
    def ada(self) -> str:
        return self.id("agent", 1)

    @property
    def bea(self) -> str:
        return self.id("agent", 2)

    @property
    def cy(self) -> str:
        return self.id("agent", 3)


def at(minute: float) -> datetime:
    return BEGUN + timedelta(minutes=minute)


def tables(seed: int = 1) -> Tables:
    """The rows of all tables."""
    names = Names(seed)
    return {
        "agents": _agents(names),
        "messages": _messages(names),
        **_conversations(names),
        **_memory(names),
        **_tools(names),
        **_folders(names),
        **_people(names),
    }


def _row(identifier: str, minute: float = 0, **fields: Any) -> Row:
    return {
        "id": identifier,
        "organization_id": ORGANIZATION,
        "created_at": at(minute),
        "updated_at": at(minute),
        "is_deleted": False,
        **fields,
    }


def _agents(names: Names) -> list[Row]:
    config = {"model": "gpt-4o-mini", "model_endpoint_type": "openai", "handle": "openai/gpt-4o-mini", "context_window": 30_000}
    embedding = {
        "embedding_model": "letta-free",
        "embedding_endpoint_type": "hugging-face",
        "embedding_dim": 1536,
        "handle": "letta/letta-free",
        "embedding_chunk_size": 300,
    }
    common: Row = {
        "agent_type": "memgpt_v2_agent", "description": None, "system": "You are an agent.", "response_format": None, "metadata_": None, "llm_config": config,
        "embedding_config": embedding, "compaction_settings": None, "project_id": None, "template_id": None, "base_template_id": None,
        "tool_rules": [], "message_buffer_autoclear": False, "enable_sleeptime": None, "last_run_completion": None, "last_run_duration_ms": None,
        "timezone": "UTC", "max_files_open": 5, "per_file_view_window_char_limit": 15_000, "hidden": None,
    }  # fmt: skip
    window = [names.id("message", 100), *(names.id("message", number) for number in _rows_of_the_last_turns())]
    return [
        _row(names.ada, 1, **common | {"name": "Ada", "message_ids": window, "enable_sleeptime": True, "metadata_": {"team": "one"}, "tool_rules": [{"type": "continue_loop", "tool_name": f"knock{names.seed}"}]}),
        _row(names.bea, 2, **common | {"name": "Ada-sleeptime", "agent_type": "sleeptime_agent", "message_ids": [names.id("message", 200)]}),
        _row(names.cy, 3, **common | {"name": "Cy", "message_ids": [names.id("message", 300), names.id("message", 301)], "hidden": True, "embedding_config": None}),
    ]  # fmt: skip


def _rows_of_the_last_turns() -> list[int]:
    return list(range(101 + 4 * (TURNS - 2), 101 + 4 * TURNS + 3))


def _message(names: Names, number: int, role: str, said: str | None = None, **fields: Any) -> Row:
    empty: Row = dict.fromkeys(
        ("text", "model", "name", "tool_calls", "tool_call_id", "step_id", "run_id", "otid", "tool_returns", "group_id", "sender_id", "batch_item_id",
         "is_err", "approval_request_id", "approve", "denial_reason", "approvals", "conversation_id")
    )  # fmt: skip
    content = [{"type": "text", "text": said}] if said is not None else None
    agent = {1: names.ada, 2: names.bea, 3: names.cy, 4: names.ada}[number // 100]
    return _row(
        names.id("message", number),
        number / 10,
        **{**empty, "agent_id": agent, "role": role, "content": content, "sequence_id": names.seed * 1_000 + number, **fields},
    )


def _called(call: str, name: str, **arguments: str) -> list[Row]:
    return [{"id": call, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]


def _messages(names: Names) -> list[Row]:
    said = json.dumps({"type": "user_message", "message": "How are you?", "time": "2025-03-01 08:10:00 AM UTC+0000"})
    rows = [_message(names, 100, "system", "You are an agent.\n<memory_blocks>…</memory_blocks>")]
    for turn in range(TURNS):
        first, call = 101 + 4 * turn, f"call_{names.seed}_{turn}"
        thought = {"type": "reasoning", "is_native": True, "reasoning": f"I think {turn}.", "signature": f"s{turn}"}
        asked = [thought, {"type": "text", "text": f"I knock {turn}."}]
        answer = {
            "tool_call_id": call,
            "status": "success",
            "func_response": json.dumps({"status": "OK", "message": f"door {turn}"}),
            "stdout": None,
            "stderr": None,
        }
        rows += [
            _message(names, first, "user", said if turn == 0 else f"Question {turn}"),
            _message(
                names,
                first + 1,
                "assistant",
                None,
                content=asked,
                tool_calls=_called(call, f"knock{names.seed}", door=str(turn)),
                model="gpt-4o-mini",
            ),
            _message(
                names,
                first + 2,
                "tool",
                answer["func_response"],
                tool_call_id=call,
                tool_returns=[answer],
                name=f"knock{names.seed}",
            ),
            _message(names, first + 3, "assistant", f"Answer {turn}", model="gpt-4o-mini"),
        ]
    last = 101 + 4 * TURNS
    rows += [
        _message(names, last, "user", "Open it."),
        _message(
            names, last + 1, "approval", None, tool_calls=_called(f"call_{names.seed}_open", f"knock{names.seed}", door="front")
        ),
        _message(names, last + 2, "user", "Never mind."),
        _message(names, last + 3, "assistant", "That failed.", is_err=True),
        _message(names, 200, "system", "You work while the other one sleeps."),
        _message(names, 300, "system", "You are old."),
        _message(names, 301, "user", None, text="A row of an early release", content=None),
    ]
    beside = [("system", "You are an agent."), ("user", "Only here."), ("assistant", "I hear you here.")]
    return [
        *rows,
        *(_message(names, 400 + n, role, text, conversation_id=names.id("conv", 1)) for n, (role, text) in enumerate(beside)),
    ]


def _conversations(names: Names) -> Tables:
    linked = [
        {
            "conversation_id": names.id("conv", 1),
            "agent_id": names.ada,
            "message_id": names.id("message", 400 + n),
            "position": n,
            "in_context": n != 1,
        }
        for n in range(3)
    ]
    return {
        "conversations": [_row(names.id("conv", 1), agent_id=names.ada, summary="beside", model=None, model_settings=None, last_message_at=at(40))],
        "conversation_messages": [_row(names.id("conv_msg", n), **one) for n, one in enumerate(linked)],
        "blocks_conversations": [{"conversation_id": names.id("conv", 1), "block_id": names.id("block", 4), "block_label": "human"}],
    }  # fmt: skip


def _memory(names: Names) -> Tables:
    common: Row = {
        "template_name": None, "description": "what the agent knows", "is_template": False, "limit": 5_000, "metadata_": {}, "read_only": False, "hidden": None,
        "preserve_on_migration": False, "project_id": None, "tags": [], "version": 1,
    }  # fmt: skip
    blocks = [
        _row(names.id("block", 1), **common | {"label": "human", "value": f"Ann of {names.seed}"}),
        _row(names.id("block", 2), **common | {"label": "persona", "value": "Shared by two"}),
        _row(names.id("block", 3), **common | {"label": "loose", "value": "Of no agent", "read_only": True}),
        _row(names.id("block", 4), **common | {"label": "human", "value": "Ann in the other conversation"}),
    ]
    links = [(names.ada, 1, "human"), (names.ada, 2, "persona"), (names.bea, 2, "persona")]
    archive: Row = {"description": None, "metadata_": None, "embedding_config": None, "vector_db_provider": "native"}
    archives = [
        _row(names.id("archive", 1), name="Ada's Archive", **archive),
        _row(names.id("archive", 2), name="Forgotten", **archive),
    ]
    passage = {"embedding_config": None, "embedding": None}
    texts = [(1, 1, "The key hangs behind the clock.", ["home"]), (2, 1, "Ann likes tea.", ["home", "ann"]), (3, 1, "The train leaves at nine.", None), (4, 2, "Nobody reads this.", None)]  # fmt: skip
    return {
        "block": blocks,
        "blocks_agents": [{"agent_id": agent, "block_id": names.id("block", number), "block_label": label} for agent, number, label in links],
        "archives": archives,
        "archives_agents": [{"agent_id": one, "archive_id": names.id("archive", 1), "is_owner": one == names.ada, "created_at": at(1)} for one in (names.ada, names.cy)],
        "archival_passages": [_row(names.id("passage", n), n, archive_id=names.id("archive", which), text=text, tags=tags, metadata_={"n": n}, **passage) for n, which, text, tags in texts],
    }  # fmt: skip


def _tools(names: Names) -> Tables:
    def tool(number: int, name: str, kind: str, **fields: Any) -> Row:
        schema = {
            "name": name,
            "description": "…",
            "parameters": {"type": "object", "properties": {"door": {"type": "string"}}, "required": ["door"]},
        }
        common = {
            "return_char_limit": 6_000,
            "description": "…",
            "source_type": "python",
            "source_code": None,
            "args_json_schema": None,
            "tags": [],
        }
        more = {
            "pip_requirements": None,
            "npm_requirements": None,
            "default_requires_approval": None,
            "enable_parallel_execution": False,
            "metadata_": {},
        }
        return _row(
            names.id("tool", number),
            number,
            **{**common, **more, "name": name, "tool_type": kind, "json_schema": schema, **fields},
        )

    tools = [
        tool(1, f"knock{names.seed}", "custom", source_code=SOURCE.format(seed=names.seed)),
        tool(2, "conversation_search", "letta_core"),
        tool(3, f"weather{names.seed}", "external_mcp", tags=[f"mcp:weather{names.seed}"]),
        tool(4, "quantum_recall", "letta_core"),
        tool(5, f"unused{names.seed}", "custom", source_code=SOURCE.format(seed=names.seed).replace("knock", "unused")),
    ]
    secrets = [("KEY", "value", None), ("SEALED", None, "gAAAA")]
    return {
        "tools": tools,
        "tools_agents": [{"agent_id": names.ada, "tool_id": names.id("tool", number)} for number in (1, 2, 3, 4)],
        "agent_environment_variables": [_row(names.id("agent-env", n), agent_id=names.ada, key=key, value=value, value_enc=sealed, description=None) for n, (key, value, sealed) in enumerate(secrets, 1)],
        "mcp_server": [_row(names.id("mcp_server", 1), server_name=f"weather{names.seed}", server_type="streamable_http", server_url=NOBODY, token=None, token_enc="gAAAA", custom_headers={"X-Team": "blue"}, stdio_config=None)],
    }  # fmt: skip


def _folders(names: Names) -> Tables:
    source = {
        "name": f"papers {names.seed}",
        "description": "what was read",
        "instructions": None,
        "metadata_": None,
        "embedding_config": None,
        "vector_db_provider": "native",
    }
    file: Row = {
        "source_id": names.id("source", 1), "file_path": None, "file_type": "text/plain", "file_size": 8, "file_creation_date": None, "file_last_modified_date": None,
        "processing_status": "completed", "error_message": None, "total_chunks": 1, "chunks_embedded": 1,
    }  # fmt: skip
    opened = {
        "file_name": "a.txt",
        "is_open": True,
        "visible_content": "1: one",
        "last_accessed_at": at(5),
        "start_line": 1,
        "end_line": 2,
    }
    return {
        "sources": [_row(names.id("source", 1), **source)],
        "sources_agents": [{"agent_id": names.ada, "source_id": names.id("source", 1)}],
        "files": [
            _row(names.id("file", 1), file_name="a.txt", original_file_name="a.txt", **file),
            _row(names.id("file", 2), file_name="b.pdf", original_file_name="b.pdf", **file),
        ],
        "file_contents": [_row(names.id("file_content", 1), file_id=names.id("file", 1), text="one\ntwo\n")],
        "files_agents": [_row(names.id("file_agent", 1), file_id=names.id("file", 1), agent_id=names.ada, source_id=names.id("source", 1), **opened)],
    }  # fmt: skip


def _people(names: Names) -> Tables:
    group: Row = {
        "description": "while Ada sleeps", "manager_type": "sleeptime", "manager_agent_id": names.ada, "termination_token": None, "max_turns": None,
        "sleeptime_agent_frequency": 5, "max_message_buffer_length": None, "min_message_buffer_length": None, "turns_counter": 2, "last_processed_message_id": None,
        "hidden": None, "agent_ids": [names.bea], "project_id": None,
    }  # fmt: skip
    ann = {
        "identifier_key": f"ann-{names.seed}",
        "name": "Ann",
        "identity_type": "user",
        "project_id": None,
        "properties": [{"key": "age", "value": 41, "type": "number"}],
    }
    return {
        "identities": [_row(names.id("identity", 1), **ann)],
        "identities_agents": [{"identity_id": names.id("identity", 1), "agent_id": names.ada}],
        "identities_blocks": [{"identity_id": names.id("identity", 1), "block_id": names.id("block", 1)}],
        "groups": [_row(names.id("group", 1), **group)],
        "groups_agents": [{"group_id": names.id("group", 1), "agent_id": names.bea}],
        "groups_blocks": [],
        "agents_tags": [{"agent_id": names.ada, "tag": "kept"}, {"agent_id": names.ada, "tag": "moved"}],
    }
