"""The form of an agent file: its lists, its ids, and the conversion of the older form with a single agent (RT 12.1,
12.4).

Pure. What is in a list is read by the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.domain.agent_files.legacy import is_legacy, of_legacy
from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.schemas.agents.agent_file import MOST_AGENTS, MOST_FILES, MOST_MESSAGES, MOST_PARTS
from hibernaut.schemas.base import Json, JsonObject, kind_of
from hibernaut.schemas.errors import InvalidArgument

LISTS: Mapping[str, int] = {
    "agents": MOST_AGENTS,
    "groups": MOST_PARTS,
    "blocks": MOST_PARTS,
    "files": MOST_FILES,
    "sources": MOST_PARTS,
    "tools": MOST_PARTS,
    "mcp_servers": MOST_PARTS,
    "skills": MOST_PARTS,
}
"""The lists of a file, and the largest number of entries in each."""
_WITHOUT_ID = ("skills",)


def corrupted(reason: str) -> InvalidArgument:
    """The error for a file that cannot be imported."""
    return InvalidArgument(f"Corrupted agent file format. {reason}")


def checked_document(value: Json, notes: ImportNotes, *, without_agents: bool = False) -> JsonObject:
    """The document in the current form, with all lists, and with an id for each entry that needs one. `without_agents`: it may
    have none.

    Raises: InvalidArgument if it is no agent file, has too many entries, or has two entries of one id.
    """
    if not isinstance(value, dict):
        raise corrupted(f"An agent file is a JSON object, not {kind_of(value)}.")
    if is_legacy(value):
        value = of_legacy(value)
        notes.add("repaired", "older_format", "agent-0", "The file has the older form with a single agent and was converted.")
    if not isinstance(value.get("agents"), list):
        raise corrupted("It has no list `agents`, and is no older file with a single agent either.")
    document = {**value, **{name: _entries(value, name) for name in LISTS}}
    if not document["agents"] and not without_agents:
        raise corrupted("Its list `agents` is empty.")
    messages = sum(len(_messages(agent)) for agent in document["agents"])
    if messages > MOST_MESSAGES:
        raise corrupted(f"It has {messages} messages, and at most {MOST_MESSAGES} are allowed.")
    return document


def _entries(value: JsonObject, name: str) -> list[JsonObject]:
    found = value.get(name)
    entries = [] if found is None else found
    if not isinstance(entries, list):
        raise corrupted(f"`{name}` is a list, not {kind_of(entries)}.")
    if len(entries) > LISTS[name]:
        raise corrupted(f"It has {len(entries)} {name}, and at most {LISTS[name]} are allowed.")
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise corrupted(f"{name}[{place}] is an object, not {kind_of(entry)}.")
    if name not in _WITHOUT_ID:
        _check_ids(entries, name)
    return entries


def _check_ids(entries: list[JsonObject], name: str) -> None:
    ids: set[str] = set()
    for place, entry in enumerate(entries):
        identifier = entry.setdefault("id", f"{name}[{place}]")
        if not isinstance(identifier, str) or not identifier:
            raise corrupted(f"{name}[{place}].id is a text, not {kind_of(identifier)}.")
        if identifier in ids:
            raise corrupted(f"Two entries of `{name}` have the id {identifier[:100]!r}.")
        ids.add(identifier)


def _messages(agent: JsonObject) -> list[JsonObject]:
    messages = agent.get("messages")
    if messages is None:
        messages = agent["messages"] = []
    if not isinstance(messages, list):
        raise corrupted(f"`messages` of {agent['id'][:100]} is a list, not {kind_of(messages)}.")
    return messages


def texts(value: Json) -> list[str]:
    """The texts of a list without duplicates; other entries, and other values than lists, are left out."""
    return list(dict.fromkeys(one for one in value if isinstance(one, str))) if isinstance(value, list) else []
