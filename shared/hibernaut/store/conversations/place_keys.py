"""The keys of the places of conversations and messages in lists (`conversation_orders`, `placed_messages`).

pk             sk            what                                 read by
t#AGENT#agent  LASTMSG#conv  its place by last message (LISTS)    order by last message
t#CONVSBY      BUILD         progress of placing conversations    lists of conversations
"""

from __future__ import annotations

from hibernaut.ports.storage.table import Key
from hibernaut.store.table import keys
from hibernaut.store.table.tenants import checked

LAST_MESSAGE = "LASTMSG"
"""The sort key, with a conversation, of its place by its newest message."""


def conversation_last_message(row: Key) -> Key:
    """The key of the place by the newest message of the conversation with this list row."""
    return Key(row.pk, f"{LAST_MESSAGE}#{keys.last_part(row.sk)}")


def conversations_placed(tenant: str) -> Key:
    """The key of the record with the progress of placing conversations of older data among those of all agents."""
    return Key(f"{checked(tenant)}#CONVSBY", keys.BUILD)


def agent_messages(tenant: str, agent_id: str) -> str:
    """The partition of the index DUE with the rows of an agent's conversations other than its default one."""
    return f"{checked(tenant)}#AGENTMSGS#{agent_id}"


def agent_message(tenant: str, agent_id: str, message_id: str) -> dict[str, str]:
    """The attributes that put a row into this partition."""
    return {"due_pk": agent_messages(tenant, agent_id), "due_sk": message_id}
