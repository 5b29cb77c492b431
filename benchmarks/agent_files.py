"""The benchmarks of agent files: an import of a megabyte, and an export of a long log."""

from __future__ import annotations

import json

from benchmarks.measures import Client, Result

MEGABYTE = 1_000_000


def agent_file(size: int, messages: int) -> bytes:
    """A file with one agent whose messages share about `size` bytes."""
    text = "A sentence about nothing. " * max(1, (size // messages - 330) // 26)
    rows = [{"type": "message", "id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are measured."}]}]
    for number in range(1, messages):
        role = "user" if number % 2 else "assistant"
        row = {
            "type": "message",
            "id": f"message-{number}",
            "role": role,
            "content": [{"type": "text", "text": text}],
            "tool_calls": None,
        }
        rows.append({**row, "tool_returns": [], "created_at": "2026-01-01T00:00:00Z", "agent_id": "agent-0", "otid": None})
    agent = {"id": "agent-0", "name": "Measured", "system": "You are measured.", "agent_type": "letta_v1_agent", "messages": rows}
    agent["in_context_message_ids"] = [row["id"] for row in rows]
    return json.dumps({"agents": [agent], "blocks": [], "tools": []}, indent=2).encode()


def import_megabyte(client: Client) -> Result:
    """Import a file of a megabyte with 1,000 messages."""
    data = agent_file(MEGABYTE, 1_000)
    return client.timed(20, lambda: _import(client, data))


def export_messages(client: Client, messages: int) -> Result:
    """Export an agent with so many messages."""
    agent = _import(client, agent_file(400 * messages, messages))
    return client.timed(20, lambda: client.http.get(f"/v1/agents/{agent}/export").raise_for_status() and None)


def _import(client: Client, data: bytes) -> str:
    reply = client.http.post("/v1/agents/import", files={"file": ("agent.af", data)}, data={"model": "openai/m"})
    reply.raise_for_status()
    return str(reply.json()["agent_ids"][0])
