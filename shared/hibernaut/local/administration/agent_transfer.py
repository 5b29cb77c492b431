"""Exports, imports, copies and moves agents between servers, over their HTTP API. Knows the API; must not know how a server
stores agents.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from hibernaut.local.profiles import CannotServe
from hibernaut.local.remote.agent_server import AgentServer
from hibernaut.schemas.base import JsonObject

OPTIONAL_PARTS = {
    "conversations": "/v1/conversations/?agent_id={agent}&limit=1",
    "passages": "/v1/agents/{agent}/archival-memory?limit=1",
    "identities": "/v1/agents/{agent}?include=agent.identities",
}
"""What the caller may leave out, and the requests that show whether an agent has it."""


def export_agent(
    server: AgentServer, agent_id: str, file: Path, messages: JsonObject, *, force: bool, as_json: bool = False
) -> int:
    """Write an agent to a file. Raises: CannotServe."""
    if file.exists() and not force:
        raise CannotServe(f"{file} exists; --force overwrites it")
    text = server.text(f"/v1/agents/{agent_id}/export", **messages)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotServe(f"{file} cannot be written: {error.strerror}") from None
    print(json.dumps({"agent_id": agent_id, "file": str(file)}) if as_json else file)
    return 0


def import_agent(server: AgentServer, file: Path, options: JsonObject, *, as_json: bool = False) -> int:
    """Create the agents of a file and print their ids. Raises: CannotServe."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise CannotServe(f"{file} cannot be read: {error.strerror}") from None
    _tell(server.import_file(data, options), as_json=as_json)
    return 0


def copy_agent(
    server: AgentServer, other: AgentServer, agent_id: str, options: JsonObject, without: Sequence[str], *, as_json: bool = False
) -> int:
    """Copy an agent with its whole log, and print its new id. `without`: the omitted ones of `OPTIONAL_PARTS`. Raises:
    CannotServe.
    """
    _tell(_copy(server, other, agent_id, options, without), as_json=as_json)
    return 0


def move_agent(
    server: AgentServer,
    other: AgentServer,
    agent_id: str,
    options: JsonObject,
    without: Sequence[str],
    *,
    force: bool,
    as_json: bool = False,
) -> int:
    """Copy an agent, compare the copy with it, and delete it. Raises: CannotServe, without the deletion, if something would be
    lost.
    """
    lost = [what for what in without if _has(server, agent_id, what)]
    values = _secrets(server, agent_id) | _secrets_option(options)
    lost += [f"the secret {key} without a value" for key, value in values.items() if not value]
    if lost and not force:
        raise CannotServe(
            f"{agent_id} has {' and '.join(lost)}, which stay behind; copy it instead, or --force deletes them with it"
        )
    result = _copy(server, other, agent_id, options, without)
    here, there = (_size(one, each, without) for one, each in ((server, agent_id), (other, str(result["agent_ids"][0]))))
    _tell(result, as_json=as_json)
    if here != there:
        raise CannotServe(f"the copy has {there}, the agent has {here}; {agent_id} was not deleted")
    server.delete(f"/v1/agents/{agent_id}")
    return 0


def _has(server: AgentServer, agent_id: str, what: str) -> bool:
    """Whether an agent has one of the `OPTIONAL_PARTS`."""
    found = server.get(OPTIONAL_PARTS[what].format(agent=agent_id))
    return bool(found.get("identities") if isinstance(found, dict) else found)


def _whole(without: Sequence[str]) -> JsonObject:
    """The options of an export of the whole agent."""
    return {"full_history": True, **dict.fromkeys(without, False)}


def _copy(server: AgentServer, other: AgentServer, agent_id: str, options: JsonObject, without: Sequence[str]) -> JsonObject:
    """Import the agent's file, with the values of its secrets if the key of the first server may read them."""
    text = server.text(f"/v1/agents/{agent_id}/export", **_whole(without))
    values = {key: value for key, value in _secrets(server, agent_id).items() if value}
    secrets = json.dumps({**values, **_secrets_option(options)})
    return other.import_file(text.encode(), {"append_copy_suffix": False, **options, "secrets": secrets})


def _secrets(server: AgentServer, agent_id: str) -> dict[str, str]:
    """The names of the agent's secrets, with the values that the key may read."""
    state = dict(server.get(f"/v1/agents/{agent_id}", include="agent.secrets"))
    return {str(one["key"]): str(one["value"] or "") for one in state.get("secrets") or ()}


def _secrets_option(options: JsonObject) -> dict[str, str]:
    """Raises: CannotServe."""
    try:
        secrets = json.loads(options.get("secrets", "{}"))
    except ValueError:
        secrets = None
    if not isinstance(secrets, dict):
        raise CannotServe("the file of --secrets must have a JSON object of names and values", 2)
    return {str(name): str(value) for name, value in secrets.items()}


def _size(server: AgentServer, agent_id: str, without: Sequence[str]) -> str:
    """What an agent has, in numbers. Calls without a return are closed in a copy, so tools' messages are not counted."""
    document = dict(server.get(f"/v1/agents/{agent_id}/export", **_whole(without)))
    more = document.get("hibernaut") or {}
    conversations = [one for own in more.get("agents", {}).values() for one in own.get("conversations", ())]
    messages = [one for log in (document["agents"][0], *conversations) for one in log["messages"] if one["role"] != "tool"]
    passages = [one for archive in more.get("archives", ()) for one in archive["passages"]]
    numbers = {"messages": len(messages), **{name: len(document[name]) for name in ("blocks", "tools", "files")}}
    numbers |= {"conversations": len(conversations), "passages": len(passages), "identities": len(more.get("identities", ()))}
    return ", ".join(f"{number} {what}" for what, number in numbers.items())


def _tell(result: JsonObject, *, as_json: bool) -> None:
    """Print the ids. Repairs and omissions go to the error output; with JSON they are part of the output."""
    if as_json:
        print(json.dumps(result, ensure_ascii=False))
        return
    for note in result.get("notes") or ():
        places = f" ({note['count']} places)" if note["count"] > 1 else ""
        print(f"{note['kind'].replace('_', ' ')}: {note['detail']}{places}", file=sys.stderr)
    for agent_id in result["agent_ids"]:
        print(agent_id)
