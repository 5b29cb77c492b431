"""The parts of agent files, for tests that put them together."""

from __future__ import annotations

import json
from typing import Any

Document = dict[str, Any]
AT = "2025-03-01T10:00:00+00:00"
CONFIG = {
    "model": "gpt-4o",
    "model_endpoint_type": "openai",
    "model_endpoint": "https://elsewhere.invalid/v1",
    "context_window": 32_000,
    "handle": "openai/gpt-4o",
}
EMBEDDING = {
    "embedding_model": "text-embedding-3-small",
    "embedding_endpoint_type": "openai",
    "embedding_dim": 1536,
    "embedding_chunk_size": 200,
}
SOURCE = 'def knock(door: str) -> str:\n    """Knock at a door.\n\n    Args:\n        door: which one\n    """\n    return door\n'
SCHEMA = {
    "name": "knock",
    "description": "Knock at a door.",
    "parameters": {"type": "object", "properties": {"door": {"type": "string"}}, "required": ["door"]},
}


def agent(**fields: Any) -> Document:
    made = {
        "id": "agent-0",
        "name": "Ada",
        "agent_type": "letta_v1_agent",
        "system": "You are Ada.",
        "llm_config": CONFIG,
        "embedding_config": EMBEDDING,
    }
    lists = {"messages": [], "in_context_message_ids": [], "files_agents": [], "group_ids": [], "tool_ids": [], "block_ids": []}
    return {**made, **lists, "model": None, "include_base_tools": False, **fields}


def file_of(*agents: Document, **lists: Any) -> Document:
    names = ("groups", "blocks", "files", "sources", "tools", "mcp_servers", "skills")
    return {"agents": list(agents), **{name: [] for name in names}, "metadata": {"revision_id": "abc"}, "created_at": AT, **lists}


def message(number: int, role: str, text: str | None = None, **fields: Any) -> Document:
    content = [] if text is None else [{"type": "text", "text": text}]
    return {
        "type": "message",
        "id": f"message-{number}",
        "role": role,
        "content": content,
        "created_at": AT,
        "agent_id": "agent-0",
        **fields,
    }


def call(identifier: str, name: str = "knock", **arguments: Any) -> Document:
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def returned(number: int, *calls: str, status: str = "success") -> Document:
    packed = json.dumps({"status": "OK", "message": "done"})
    returns = [{"tool_call_id": one, "status": status, "func_response": packed, "stdout": None, "stderr": []} for one in calls]
    return message(number, "tool", packed, tool_call_id=calls[0], name="knock", tool_returns=returns)


def block(number: int, label: str | None, value: str | None = "text", **fields: Any) -> Document:
    return {"id": f"block-{number}", "label": label, "value": value, "limit": 5_000, "description": None, **fields}


def tool(number: int, name: str, kind: str = "custom", **fields: Any) -> Document:
    schema = {**SCHEMA, "name": name}
    source = SOURCE.replace("knock", name) if kind == "custom" else None
    return {
        "id": f"tool-{number}",
        "name": name,
        "tool_type": kind,
        "source_type": "python",
        "source_code": source,
        "json_schema": schema,
        "tags": [],
        **fields,
    }


def talked(*rows: Document, **fields: Any) -> Document:
    """An agent whose window is its whole log: a system message and these rows."""
    messages = [message(0, "system", "You are Ada, as of then."), *rows]
    return agent(messages=messages, in_context_message_ids=[row["id"] for row in messages], **fields)
