"""Reads the log: pages of one agent's messages or of all agents', and one row by its id (Letta V1 API, API 1.5, 2.3, 2.15).

The limit of a page counts stored rows; each row renders as several messages, one, or none. Pages are ordered from oldest to
newest; `descending` only selects the newest rows. (`conversation_page` alone returns its page in the requested order.) Cursors
are positions in chronological order: `after` selects later rows, `before` earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from hibernaut.domain.agents.agent_types import spec_of
from hibernaut.domain.wire.letta_messages import Rendering, render
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.letta_message import LettaMessage
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.services.logs.conversation_pages import ConversationPages
from hibernaut.store.agents.agents import AgentStore
from hibernaut.store.conversations.agent_logs import AgentLogs
from hibernaut.store.conversations.conversations import ConversationStore
from hibernaut.store.conversations.messages import MessageStore as Log
from hibernaut.store.table.lists.logs import IdRange

DEFAULT_CONVERSATION = "default"
CHUNK = 200
"""The number of rows in one read of a query without a limit."""


@immutable
class MessageQuery:
    """The filter, page and rendering of a message list. `conversation_id` "default": the agent's default conversation; None: all
    of its conversations. `limit` None: all rows.
    """

    limit: int | None = 100
    before: str | None = None
    after: str | None = None
    descending: bool = True
    conversation_id: str | None = None
    group_id: str | None = None
    include_err: bool = False
    types: frozenset[str] | None = None
    use_assistant_message: bool = True
    assistant_tool: str = "send_message"
    assistant_kwarg: str = "message"


class MessageLists:
    """Pages of an agent's or a conversation's messages, and single messages."""

    def __init__(self, *, agents: AgentStore, conversations: ConversationStore, agent_logs: AgentLogs, log: Log) -> None:
        self._agents = agents
        self._conversations = conversations
        self._agent_logs = agent_logs
        self._log = log
        self._pages = ConversationPages(conversations)

    def page(self, agent_id: str, query: MessageQuery) -> list[LettaMessage]:
        """A page of an agent's messages. Raises: NotFound for the agent or a cursor."""
        agent = self._agents.get(agent_id)
        if agent is None:
            raise NotFound(f"Agent with ID {agent_id} not found")
        for cursor in (query.before, query.after):
            if cursor is not None and self._row(agent_id, query.conversation_id, cursor) is None:
                raise NotFound(f"No message found with id '{cursor}' for agent '{agent_id}'.")
        rows = [row for row in self._rows(agent_id, query) if row.agent_id == agent_id]
        return _shown(rows, query, lambda _row: agent.agent_type)

    def _row(self, agent_id: str, conversation: str | None, message_id: str) -> Message | None:
        if conversation is None:
            return self._agent_logs.message(agent_id, message_id)
        return self._conversations.message(_log_of(agent_id, conversation), message_id)

    def _rows(self, agent_id: str, query: MessageQuery) -> list[Message]:
        span = IdRange(query.after, query.before)
        if query.conversation_id is None:
            return _by_id(self._agent_logs.page(agent_id, span, limit=query.limit, descending=query.descending))
        conversation = _log_of(agent_id, query.conversation_id)
        return self._pages.page(conversation, span, limit=query.limit, descending=query.descending)

    def conversation_page(self, agent_id: str, conversation: str, query: MessageQuery) -> list[LettaMessage]:
        """A page of one conversation, in the requested order. A cursor that is not one of its messages has no effect (digest
        1.5).
        """
        agent = self._agents.get(agent_id)
        cursors = [cursor for cursor in (query.before, query.after) if cursor is not None]
        found_ids = {row.id for row in self._conversations.messages(conversation, cursors)} if cursors else set()
        before, after = (cursor if cursor in found_ids else None for cursor in (query.before, query.after))
        span = IdRange(after, before)
        rows = self._pages.page(conversation, span, limit=query.limit, descending=query.descending)
        messages = _shown(rows, query, lambda _row: agent.agent_type if agent else AgentType.LETTA_V1)
        return messages[::-1] if query.descending else messages

    def page_of_all(self, query: MessageQuery) -> list[LettaMessage]:
        """A page of the messages of all agents, from an eventually consistent index. Raises: NotFound for an unknown cursor."""
        for cursor in (query.before, query.after):
            if cursor is not None and self._log.get(cursor) is None:
                raise NotFound(f"Message with id {cursor} not found.")
        if query.conversation_id is not None and query.conversation_id != DEFAULT_CONVERSATION:
            return self.shown(self._rows("", query), query)
        first = CHUNK if query.limit is None else query.limit
        rows: Iterable[Message] = self._log.walk(IdRange(query.after, query.before), first=first, descending=query.descending)
        if query.conversation_id is not None:
            rows = (row for row in rows if row.conversation_id is None)
        return self.shown(_by_id(islice(rows, query.limit)), query)

    def get(self, message_id: str) -> list[LettaMessage]:
        """The messages that one row renders as. Raises: NotFound."""
        row = self._log.get(message_id)
        if row is None:
            raise NotFound(f"Message with id {message_id} not found.")
        return self.shown([row], MessageQuery(include_err=True))

    def range(self, conversation: str, first: str | None, last: str | None, query: MessageQuery) -> list[LettaMessage]:
        """A page of the rows from `first` to `last`, both inclusive, such as a run's or a step's, in the requested order.

        Raises: NotFound for a cursor outside of them.
        """
        if first is None:
            return []
        rows = self._conversations.page(conversation, after=first[:-1], before=_behind(last or first))
        ids = {row.id for row in rows}
        for cursor in (query.before, query.after):
            if cursor is not None and cursor not in ids:
                raise NotFound(f"Message with id {cursor} not found.")
        rows = [row for row in rows if (not query.after or row.id > query.after) and (not query.before or row.id < query.before)]
        limit = len(rows) if query.limit is None else query.limit
        selected = rows[max(0, len(rows) - limit) :] if query.descending else rows[:limit]
        messages = self.shown(selected, query)
        return messages[::-1] if query.descending else messages

    def of_run(self, run: StoredRun, query: MessageQuery) -> list[LettaMessage]:
        """A page of a run's messages, including its input. Without `query.types`, the types are those that the run's request
        selects.

        Raises: NotFound for a cursor outside the run.
        """
        types = run.request_config.include_return_message_types if run.request_config else None
        if query.types is None and types is not None:
            query = replace(query, types=frozenset(types))
        return self.range(run.conversation_id or run.agent_id, run.first_message, run.last_message, query)

    def shown(self, rows: Sequence[Message], query: MessageQuery) -> list[LettaMessage]:
        """Rows of any agents as messages, in the order of the rows. Rows of a deleted agent render as those of the default agent
        type.
        """
        agents = self._agents.get_many(sorted({row.agent_id for row in rows}))

        def type_of(row: Message) -> AgentType:
            agent = agents.get(row.agent_id)
            return agent.agent_type if agent else AgentType.LETTA_V1

        return _shown(rows, query, type_of)


def _log_of(agent_id: str, conversation: str) -> str:
    return agent_id if conversation == DEFAULT_CONVERSATION else conversation


def _by_id(rows: Iterable[Message]) -> list[Message]:
    return sorted(rows, key=lambda row: row.id)


def _shown(rows: Sequence[Message], query: MessageQuery, type_of: Callable[[Message], AgentType]) -> list[LettaMessage]:
    if query.group_id is not None:
        rows = [row for row in rows if row.group_id == query.group_id]
    if not query.include_err:
        rows = [row for row in rows if not row.is_err]
    return [message for row in rows for message in render(row, _how(query, type_of(row)))]


def _how(query: MessageQuery, agent_type: AgentType) -> Rendering:
    return Rendering(
        use_assistant_message=query.use_assistant_message,
        assistant_tool=query.assistant_tool,
        assistant_kwarg=query.assistant_kwarg,
        types=query.types,
        legacy=not spec_of(agent_type).text_ends_turn,
    )


def _behind(message_id: str) -> str:
    """A string that sorts after this id and before every greater id."""
    return f"{message_id}~"
