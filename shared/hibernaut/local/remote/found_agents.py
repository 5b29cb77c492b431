"""Agents of a server by what a person types: an id, a name, or nothing."""

from __future__ import annotations

import re
from urllib.parse import quote

from hibernaut.local.profiles import CannotServe
from hibernaut.local.remote.agent_server import AgentServer, ServerRefused
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.ids import AGENT_ID

MOST_IDS = 5
"""The largest number of ids in the error for an ambiguous name."""


def agent_of(server: AgentServer, id_or_name: str, **query: str) -> JsonObject:
    """The agent with this id or name. Raises: CannotServe if there is none, or several have the name."""
    if re.fullmatch(AGENT_ID, id_or_name):
        try:
            return dict(server.get(f"/v1/agents/{id_or_name}", **query))
        except ServerRefused as refused:
            raise CannotServe(f"{server.url} has no agent {id_or_name}" if refused.status == 404 else str(refused)) from None
    found = list(server.get("/v1/agents/", name=id_or_name, limit=MOST_IDS + 1))
    if not found:
        raise CannotServe(f"{server.url} has no agent with the name {id_or_name!r}; hibernaut agents list shows them")
    if len(found) > 1:
        ids = ", ".join(str(one["id"]) for one in found[:MOST_IDS])
        raise CannotServe(f"several agents have the name {id_or_name!r}: name one by its id, such as {ids}", 2)
    return dict(server.get(f"/v1/agents/{quote(str(found[0]['id']))}", **query))


def newest_agent(server: AgentServer) -> JsonObject | None:
    """The agent that has run last, or else the newest one; None if there is no agent."""
    found = list(server.get("/v1/agents/", limit=1, order="desc", order_by="last_run_completion"))
    return dict(found[0]) if found else None
