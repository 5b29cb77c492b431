"""The merged log of an agent: the rows of its default conversation and of its other conversations, ordered by id.

A row that several forks share appears once.
"""

from __future__ import annotations

from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.messages.message import Message
from hibernaut.store.conversations.conversation_records import ConversationRecordStore
from hibernaut.store.conversations.conversations import ConversationStore
from hibernaut.store.table.logs import IdRange

LOGS_AT_ONCE = 32
"""The largest number of logs that are read together."""


class AgentLogs:
    """The merged logs of agents. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read."""

    def __init__(self, conversations: ConversationStore, records: ConversationRecordStore) -> None:
        self._conversations = conversations
        self._logs = conversations.logs
        self._records = records

    def page(self, agent_id: str, span: IdRange, *, limit: int | None = None, descending: bool = False) -> list[Message]:
        """The rows with after < id < before in the order of ids; newest first if `descending`. `limit` None: all of them."""
        others = self._records.ids(agent_id)
        if not others:
            return self._logs.rows(agent_id, [], span, limit=limit, descending=descending)
        heads = sorted(self._conversations.heads([agent_id, *others]).values(), key=_newest, reverse=True)
        found: dict[str, Message] = {}
        start, size = 0, 1
        while start < len(heads):
            if descending and limit is not None and _complete(found, limit, heads[start]):
                break
            some = heads[start : start + size]
            rows = self._logs.own_rows([head.id for head in some if not head.segments], span, limit=limit, descending=descending)
            for head in some:
                if head.segments:
                    rows += self._logs.rows(head.id, head.segments, span, limit=limit, descending=descending)
            found |= {row.id: row for row in rows}
            # The newest logs may have the whole page. Where they do not, more and more logs are read together.
            start, size = start + size, min(2 * size, LOGS_AT_ONCE)
        return [found[row_id] for row_id in sorted(found, reverse=descending)[:limit]]

    def message(self, agent_id: str, message_id: str) -> Message | None:
        """A row by its id, from any of the agent's logs; None if there is no such row."""
        found = self._logs.first([agent_id], message_id)
        if found is None and (others := self._records.ids(agent_id)):
            heads = self._conversations.heads(others).values()
            shared = {part.conversation for head in heads for part in head.segments}
            found = self._logs.first([*others, *sorted(shared)], message_id)
        return found


def _newest(head: Head) -> str:
    return head.last_message or ""


def _complete(found: dict[str, Message], limit: int, head: Head) -> bool:
    """Whether no row of this log, or of a log that ended earlier, can be among the newest `limit` rows."""
    return len(found) >= limit and sorted(found, reverse=True)[limit - 1 : limit] > [_newest(head)]
