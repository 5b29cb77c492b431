"""Stores turns that another system produced in the log of an agent's default conversation (Letta V1 API, digest 3).

They become part of the window, so the next run reads them. Must not know how a model is called.
"""

from __future__ import annotations

from hibernaut.domain.window.open_calls import LAST_ROWS, open_at_end
from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.errors import Busy, Conflict, NotFound
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.capture import Captured, CaptureMessages
from hibernaut.services.host import Host
from hibernaut.services.sending.refusals import refuse_paused
from hibernaut.store.runs.transactions import grown
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.optimistic_retry import until_settled


class Captures:
    """The use case of captured turns."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._conversations = stores.conversations
        self._pauses = stores.pauses
        self._writer = stores.writer
        self._host = host

    def capture(self, agent_id: str, request: CaptureMessages) -> Captured:
        """Append the user's messages and the reply to the log, in one transaction. Raises: NotFound; Busy while a run owns the
        conversation or an approval is pending; Conflict, also for a paused agent.
        """

        def attempt() -> Captured:
            head = self._conversations.head(agent_id)
            if head is None:
                raise NotFound(f"Agent with ID {agent_id} not found")
            refuse_paused(agent_id, self._pauses.get(agent_id))
            self._check_idle(head)
            rows = self._rows(head, request)
            after, token = grown(head, rows, owner=None), self._host.ids.token()
            changes: list[Change] = [
                self._conversations.change_head(head, after, token),
                *self._conversations.put_rows(head, rows),
            ]
            self._writer.write(*changes, token=token)
            self._conversations.appended(head, after, rows)
            return Captured(messages_created=len(rows))

        return until_settled(attempt, "The conversation is too busy to take the messages; try again.")

    def _check_idle(self, head: Head) -> None:
        run_id = head.owner or head.pending
        if run_id:
            raise Busy(f"CONFLICT: The run {run_id} holds the conversation; capture messages when it has ended.", run_id)
        if head.calls_open is not False:
            tail = self._conversations.page(head.id, limit=LAST_ROWS, descending=True)
            if open_at_end(tail[::-1]):
                raise Conflict("CONFLICT: The conversation ends with a call without a return; repair it first (messages/repair).")

    def _rows(self, head: Head, request: CaptureMessages) -> list[Message]:
        user_messages = [one for one in request.request_messages if one.role == "user" and one.content]
        rows: list[Message] = []
        last, now = head.last_message, self._host.clock.now()
        for one in user_messages:
            last = self._host.ids.new("message", after=last)
            content = [TextContent(text=one.content)] if isinstance(one.content, str) else list(one.content or ())
            rows.append(Message(id=last, role="user", content=content, agent_id=head.agent_id, created_at=now))
        last = self._host.ids.new("message", after=last)
        reply = [TextContent(text=request.response_dict.content)]
        rows.append(
            Message(id=last, role="assistant", content=reply, agent_id=head.agent_id, model=request.model, created_at=now)
        )
        return rows
