"""`hibernaut agents list|show|create|delete`, over the API of a server. Knows the terminal; must not know how a server stores
agents.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence

from hibernaut.local.profiles import CannotServe
from hibernaut.local.remote.agent_server import AgentServer
from hibernaut.local.remote.found_agents import agent_of
from hibernaut.local.terminal import BOLD, Paint, harmless, one_line, table_of
from hibernaut.schemas.base import JsonObject

PAGE = 100
"""Agents of one request."""
INCLUDED = "agent.blocks&include=agent.tools&include=agent.tags"
PREVIEW = 80
"""The number of characters of a block in the output."""


def list_agents(server: AgentServer, filters: JsonObject, limit: int, *, as_json: bool) -> int:
    """Print agents, newest first. Raises: CannotServe."""
    found: list[JsonObject] = []
    more = True
    while more and len(found) < limit:
        cursor = {"after": found[-1]["id"]} if found else {}
        size = min(PAGE, limit - len(found))
        page = list(server.get("/v1/agents/", limit=size, order="desc", **filters, **cursor))
        found += page
        more = len(page) == size
    if as_json:
        print(json.dumps(found, ensure_ascii=False, indent=1))
        return 0
    if not found:
        print("There are no agents.", file=sys.stderr)
        return 0
    rows = [[_cell(one, "id"), one_line(str(one["name"]), 40), model_of(one), _cell(one, "last_run_completion")] for one in found]
    paint = Paint(sys.stdout)
    head, *lines = table_of(("id", "name", "model", "last run"), rows)
    print("\n".join((paint(head, BOLD), *lines)))
    if more:
        print(f"These are the newest {limit}; --limit shows more.", file=sys.stderr)
    return 0


def show_agent(server: AgentServer, id_or_name: str, *, as_json: bool) -> int:
    """Print an agent with its blocks and tools. Raises: CannotServe."""
    summary = agent_of(server, id_or_name)
    agent = dict(server.get(f"/v1/agents/{summary['id']}?include={INCLUDED}"))
    if as_json:
        print(json.dumps(agent, ensure_ascii=False, indent=1))
        return 0
    paint = Paint(sys.stdout)
    print(f"{paint(harmless(str(agent['name'])), BOLD)}  {agent['id']}")
    facts = {
        "model": model_of(agent),
        "type": agent.get("agent_type"),
        "description": agent.get("description"),
        "tags": ", ".join(agent.get("tags") or ()),
        "tools": ", ".join(sorted(str(one["name"]) for one in agent.get("tools") or ())),
        "created": agent.get("created_at"),
        "last run": agent.get("last_run_completion"),
    }
    for name, value in facts.items():
        if value:
            print(f"  {name:<12}{harmless(str(value))}")
    for block in agent.get("blocks") or ():
        text = one_line(str(block["value"]), PREVIEW)
        print(f"  block       {harmless(str(block['label']))} ({len(block['value']):,}/{block['limit']:,}): {text}")
    return 0


def create_agent(server: AgentServer, fields: JsonObject, *, as_json: bool) -> int:
    """Create an agent and print its id. Raises: CannotServe."""
    agent = dict(server.post("/v1/agents/", fields))
    print(json.dumps(agent, ensure_ascii=False, indent=1) if as_json else agent["id"])
    return 0


def delete_agents(server: AgentServer, agents: Sequence[str], sure: Callable[[str], bool], *, as_json: bool) -> int:
    """Delete agents, after one confirmation by `sure`. Raises: CannotServe; if an agent does not exist, before any deletion."""
    found = [agent_of(server, one) for one in agents]
    names = ", ".join(f"{harmless(str(one['name']))} ({one['id']})" for one in found)
    if not sure(f"Delete {names} with all messages?"):
        raise CannotServe("nothing was deleted")
    for one in found:
        server.delete(f"/v1/agents/{one['id']}")
    ids = [str(one["id"]) for one in found]
    print(json.dumps({"deleted": ids}) if as_json else "\n".join(f"Deleted {one}." for one in ids))
    return 0


def model_of(agent: JsonObject) -> str:
    """The handle of an agent's model."""
    return str(agent.get("model") or (agent.get("llm_config") or {}).get("handle") or "")


def _cell(agent: JsonObject, name: str) -> str:
    return str(agent.get(name) or "")
