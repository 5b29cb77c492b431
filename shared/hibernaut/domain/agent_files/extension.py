"""The extension of V1's agent files: archives with their passages, identities, and further conversations, under the key
`hibernaut`, which V1 ignores.

Pure. `archives` and `identities` have local ids; `agents` names for each agent of the file the archives and identities that it
has, and has its conversations.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.agent_files.documents import corrupted
from hibernaut.schemas.agents.agent_file import MOST_FILE_PASSAGES, MOST_MESSAGES, MOST_PARTS
from hibernaut.schemas.agents.conversation_record import StoredConversation
from hibernaut.schemas.agents.identity import StoredIdentity
from hibernaut.schemas.base import Json, JsonObject, kind_of
from hibernaut.schemas.memory.passage import Archive, Passage

KEY = "hibernaut"
_OF_A_CONVERSATION = {
    "summary", "description", "model", "model_settings", "context_window_limit", "archived", "archived_at", "hidden", "created_at",
}  # fmt: skip


def checked_extension(document: JsonObject) -> JsonObject:
    """The extension of a document with all its lists; empty ones if it has none. Raises: InvalidArgument."""
    extension = document.get(KEY)
    if extension is None:
        extension = {}
    if not isinstance(extension, dict):
        raise corrupted(f"`{KEY}` is an object, not {kind_of(extension)}.")
    archives, identities = (
        _identified(extension.get(name), f"{KEY}.{name}", f"{kind}-")
        for name, kind in (("archives", "archive"), ("identities", "identity"))
    )
    passages = 0
    for archive in archives:
        archive["passages"] = _objects(archive.get("passages"), f"{archive['id']}.passages", MOST_FILE_PASSAGES)
        passages += len(archive["passages"])
    if passages > MOST_FILE_PASSAGES:
        raise corrupted(f"It has {passages} passages, and at most {MOST_FILE_PASSAGES} are allowed.")
    agents = extension.get("agents") or {}
    if not isinstance(agents, dict) or not all(isinstance(one, dict) for one in agents.values()):
        raise corrupted(f"`{KEY}.agents` is an object of objects.")
    messages = sum(len(agent["messages"]) for agent in document["agents"])
    for local, agent in agents.items():
        agent["conversations"] = _objects(agent.get("conversations"), f"{local[:100]}.conversations", MOST_PARTS)
        for index, one in enumerate(agent["conversations"]):
            one["messages"] = _objects(one.get("messages"), f"{local[:100]}.conversations[{index}].messages", MOST_MESSAGES)
            messages += len(one["messages"])
    if messages > MOST_MESSAGES:
        raise corrupted(f"It has {messages} messages, and at most {MOST_MESSAGES} are allowed.")
    return {"archives": archives, "identities": identities, "agents": agents}


def _objects(value: Json, place: str, most: int) -> list[JsonObject]:
    entries = [] if value is None else value
    if not isinstance(entries, list):
        raise corrupted(f"`{place}` is a list, not {kind_of(entries)}.")
    if len(entries) > most:
        raise corrupted(f"`{place}` has {len(entries)} entries, and at most {most} are allowed.")
    for at, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise corrupted(f"{place}[{at}] is an object, not {kind_of(entry)}.")
    return entries


def _identified(value: Json, place: str, prefix: str) -> list[JsonObject]:
    entries = _objects(value, place, MOST_PARTS)
    ids = set[str]()
    for index, entry in enumerate(entries):
        identifier = entry.setdefault("id", f"{prefix}{index}")
        if not isinstance(identifier, str) or not identifier or identifier in ids:
            raise corrupted(f"{place}[{index}].id is a text of its own.")
        ids.add(identifier)
    return entries


def exported_archive(archive: Archive, local: str) -> JsonObject:
    """An archive without its passages."""
    fields = archive.model_dump(mode="json", include={"name", "description", "metadata", "embedding_config", "created_at"})
    return {"id": local, **fields, "embedding": archive.embedding_config.handle if archive.embedding_config else None}


def exported_passage(passage: Passage) -> JsonObject:
    """A passage: its text without its vector, which the importing server computes anew."""
    return passage.model_dump(mode="json", include={"text", "tags", "metadata", "created_at"})


def exported_identity(identity: StoredIdentity, local: str) -> JsonObject:
    """An identity."""
    return {"id": local, **identity.model_dump(mode="json", include={"identifier_key", "name", "identity_type", "properties"})}


def exported_conversation(
    record: StoredConversation, messages: Sequence[JsonObject], in_context: Sequence[str], isolated: Sequence[JsonObject]
) -> JsonObject:
    """A conversation with its messages. `isolated`: the private blocks that stand in place of blocks of the agent."""
    fields = record.model_dump(mode="json", include=_OF_A_CONVERSATION)
    return {**fields, "isolated_blocks": list(isolated), "in_context_message_ids": list(in_context), "messages": list(messages)}
