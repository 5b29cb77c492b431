"""The query strings of conversations (Letta V1 API, API 1.5 and 2.16)."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Query

from hibernaut.rest.queries.queries import Limit, MessageList, Order
from hibernaut.schemas.agents.conversation_record import ForkQuery
from hibernaut.schemas.base import Schema
from hibernaut.schemas.ids import AgentId
from hibernaut.services.conversations.conversation_lists import ConversationQuery
from hibernaut.services.logs.messages import MessageQuery


class ConversationList(Schema):
    """A page of conversations."""

    agent_id: AgentId | None = None
    limit: Limit = 50
    after: str | None = None
    summary_search: str | None = None
    archive_status: Literal["unarchived", "archived", "all"] = "unarchived"
    order: Order = "desc"
    order_by: Literal["created_at", "last_run_completion", "last_message_at"] = "created_at"

    def query(self) -> ConversationQuery:
        """The query of the use case."""
        return ConversationQuery(
            agent_id=self.agent_id,
            limit=self.limit,
            after=self.after,
            summary_search=self.summary_search,
            archived=self.archive_status,
            order_by=self.order_by,
            descending=self.order == "desc",
        )


class ConversationMessageList(MessageList):
    """A page of the messages of one conversation, in the requested order. `agent_id` belongs to the conversation id `default`."""

    agent_id: AgentId | None = None
    group_id: str | None = None
    include_err: bool | None = None

    def query(self) -> MessageQuery:
        """The query of the use case."""
        agent_query = super().query()
        return replace(agent_query, conversation_id=None, group_id=self.group_id, include_err=bool(self.include_err))


ConversationListQuery = Annotated[ConversationList, Query()]
ConversationMessageListQuery = Annotated[ConversationMessageList, Query()]
ForkOptions = Annotated[ForkQuery, Query()]
