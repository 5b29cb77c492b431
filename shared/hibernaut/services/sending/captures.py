"""Stores turns that another system produced in the log of an agent's default conversation (Letta V1 API, API 3).

They become part of the window, so the next run reads them. Must not know how a model is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from hibernaut.domain.window.open_calls import LAST_ROWS, open_at_end
from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.content import Part, TextContent
from hibernaut.schemas.errors import Busy, Conflict, NotFound, Unprocessable
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.capture import Captured, CaptureMessages
from hibernaut.services.host import Host
from hibernaut.services.sending.refusals import refuse_paused
from hibernaut.services.turns.inputs import MOST_MESSAGES
from hibernaut.store.runs.transaction_values import INPUT_PAGE
from hibernaut.store.runs.transactions import grown
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.optimistic_retry import until_settled

_CHANGING = "The conversation is too busy to take the messages; try again."


@immutable
class _CapturedRow:
    """A row before it has its place in the log. `model`: of the reply."""

    role: Literal["user", "assistant"]
    content: list[Part]
    model: str | None = None


class Captures:
    """The use case of captured turns."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._conversations = stores.conversations
        self._pauses = stores.pauses
        self._writer = stores.writer
        self._host = host

    def capture(self, agent_id: str, request: CaptureMessages) -> Captured:
        """Append the user's messages and the reply to the log, `INPUT_PAGE` rows in each transaction.

        Raises: NotFound; Unprocessable for more than `MOST_MESSAGES` messages of the user; Conflict, also for a paused agent, and
        as Busy while a run owns the conversation or an approval is pending. If one comes between two transactions, its text says
        how many messages are stored.
        """
        rows = _rows(request)
        if len(rows) > MOST_MESSAGES + 1:
            raise Unprocessable(f"At most {MOST_MESSAGES} messages with the role user can be captured at once")
        for start in range(0, len(rows), INPUT_PAGE):
            try:
                until_settled(partial(self._append, agent_id, rows[start : start + INPUT_PAGE]), _CHANGING)
            except Conflict as error:
                if start:
                    error.detail = f"{error.detail} Of these messages the first {start} of {len(rows)} are stored."
                raise
        return Captured(messages_created=len(rows))

    def _append(self, agent_id: str, page: Sequence[_CapturedRow]) -> None:
        """Raises: NotFound, Busy, Conflict, ConditionFailed."""
        head = self._conversations.head(agent_id)
        if head is None:
            raise NotFound(f"Agent with ID {agent_id} not found")
        refuse_paused(agent_id, self._pauses.get(agent_id))
        self._check_idle(head)
        rows: list[Message] = []
        last, now = head.last_message, self._host.clock.now()
        for one in page:
            last = self._host.ids.new("message", after=last)
            rows.append(Message(id=last, role=one.role, content=one.content, agent_id=agent_id, model=one.model, created_at=now))
        after, token = grown(head, rows, owner=None), self._host.ids.token()
        changes: list[Change] = [
            self._conversations.change_head(head, after, token),
            *self._conversations.put_rows(head, rows),
        ]
        self._writer.write(*changes, token=token)
        self._conversations.appended(head, after, rows)

    def _check_idle(self, head: Head) -> None:
        run_id = head.owner or head.pending
        if run_id:
            raise Busy(f"CONFLICT: The run {run_id} holds the conversation; capture messages when it has ended.", run_id)
        if head.calls_open is not False:
            tail = self._conversations.page(head.id, limit=LAST_ROWS, descending=True)
            if open_at_end(tail[::-1]):
                raise Conflict("CONFLICT: The conversation ends with a call without a return; repair it first (messages/repair).")


def _rows(request: CaptureMessages) -> list[_CapturedRow]:
    """The user's messages, then the reply."""
    rows = [
        _CapturedRow("user", [TextContent(text=one.content)] if isinstance(one.content, str) else list(one.content))
        for one in request.request_messages
        if one.role == "user" and one.content
    ]
    return [*rows, _CapturedRow("assistant", [TextContent(text=request.response_dict.content)], request.model)]
