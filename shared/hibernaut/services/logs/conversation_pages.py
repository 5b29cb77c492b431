"""Pages of one conversation's rows. A fork's list begins with its own system message, as in V1; all else is ordered by id.

The ids of a log are chronological. The system message of a fork is newer than the rows that the fork shares, so this module
places it first explicitly.
"""

from __future__ import annotations

from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.messages.message import Message
from hibernaut.store.conversations.conversations import ConversationStore
from hibernaut.store.table.lists.logs import IdRange

_FORKABLE = "conv-"


class ConversationPages:
    """Pages of a conversation's rows, always ordered from oldest to newest."""

    def __init__(self, conversations: ConversationStore) -> None:
        self._conversations = conversations

    def page(self, conversation: str, span: IdRange, *, limit: int | None, descending: bool) -> list[Message]:
        """The rows between two cursors, both exclusive; `descending` chooses the newest `limit` of them."""
        head = self._conversations.head(conversation) if conversation.startswith(_FORKABLE) else None
        if head is not None and head.segments:
            return self._of_fork(head, span, limit, descending)
        rows = self._conversations.logs.rows(conversation, [], span, limit=limit, descending=descending)
        return rows[::-1] if descending else rows

    def _of_fork(self, head: Head, span: IdRange, limit: int | None, descending: bool) -> list[Message]:
        first = head.window.pinned[0]
        if span.before == first:
            return []
        begins = span.after is None
        others = IdRange(None if span.after == first else span.after, span.before)
        one_more = None if limit is None else limit + 1  # The system message is among them by its id.
        rows = self._conversations.logs.rows(head.id, head.segments, others, limit=one_more, descending=descending)
        rows = [row for row in rows if row.id != first]
        system = self._conversations.logs.messages(head.id, [first], lambda: head.segments) if begins else []
        if descending:
            return [*rows, *system][:limit][::-1]
        return [*system, *rows][:limit]
