"""Erases the messages of a person to agents that stay: the rows of the person's turns, their runs, the passages that these runs
stored, and everything derived from them: summaries, traces, compiled system messages, and the transcripts that sleep-time agents
received.

Every agent of the tenant is examined, because a person is also known by the `sender_id` of a message.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.window.erased_rows import erase_rows
from hibernaut.ports.storage.table import MAX_CHANGES, Change
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.conversation import Window
from hibernaut.schemas.agents.erasure import ErasureLine, LogCursor, StoredErasure
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.stop import StopReason
from hibernaut.services.agents.sleeptime_pairs import sleepers_of
from hibernaut.services.erasures.erased_agents import ErasedAgents
from hibernaut.services.erasures.erased_runs import ErasedRuns
from hibernaut.services.erasures.erasure_parts import ErasureParts, ErasureWaits
from hibernaut.services.prompt.system_messages import system_row
from hibernaut.store.table.lists.logs import IdRange

ROWS = 400
"""Rows of logs that are examined before the progress is stored."""
_ROWS_AT_ONCE = MAX_CHANGES // 2 - 1
"""Rows of one transaction, which has two changes for each and a pointer for the index."""


class ErasedLogs:
    """The agents of an erasure that stay."""

    def __init__(self, parts: ErasureParts) -> None:
        self._parts = parts
        self._stores = parts.stores
        self._records = parts.records
        self._agents = ErasedAgents(parts)
        self._runs = ErasedRuns(parts)

    def advance(self, erasure: StoredErasure) -> StoredErasure | None:
        """Examine the next rows; returns the erasure with its progress, or None if no agent is left.

        Raises: ErasureWaits, Conflict, OSError; a repeated call continues.
        """
        rows_left, senders = ROWS, self._senders(erasure)
        while rows_left > 0:
            row = self._parts.stores.erasures.agent_after(erasure.cursor)
            if row is None:
                return None if rows_left == ROWS else erasure
            agent_id, identities_of_agent = row
            if erasure.identity_id in identities_of_agent and (agent := self._records.agents.get(agent_id)) is not None:
                self._agents.erase(erasure, agent)  # no mark leads to an agent of older data
                return erasure
            conversations = self._parts.conversations(agent_id)
            log = erasure.log if erasure.log.conversation in conversations else LogCursor(conversation=agent_id)
            if not log.after:
                self._end_queued(erasure, log.conversation, senders)
            page, log = self._page(erasure, agent_id, log, senders)
            rows_left -= max(page, ROWS // 50)
            if page == ROWS:
                erasure = erasure.model_copy(update={"log": log})
                continue
            further = conversations[conversations.index(log.conversation) + 1 :]
            if further:
                log = LogCursor(conversation=further[0], rows=log.rows, erased=self._is_fork(further[0]) and log.rows > 0)
                erasure = erasure.model_copy(update={"log": log})
                continue
            self._finish(erasure, agent_id, log)
            erasure = erasure.model_copy(update={"cursor": agent_id, "log": LogCursor()})
        return erasure

    def _is_fork(self, conversation: str) -> bool:
        return bool(self._records.conversations.segments(conversation))

    def _senders(self, erasure: StoredErasure) -> frozenset[str]:
        """The values of `sender_id` that mean the person, or an agent of the person's that wrote to others."""
        agents = self._parts.stores.erasures.lines(erasure.id, "agent")
        return frozenset([*erasure.senders, *(line.id for line in agents if line.extent == "whole")])

    def _end_queued(self, erasure: StoredErasure, conversation: str, senders: frozenset[str]) -> None:
        """Withdraw messages of the person that wait for their turn."""
        for run_id in reversed(self._records.conversations.queue(conversation)):
            state = self._stores.runs.get(run_id)
            if state is not None and any(row.sender_id in senders for row in state.run.input):
                self._parts.termination.end(run_id, StopReason.CANCELLED)
                self._runs.erase(erasure, run_id)

    def _page(self, erasure: StoredErasure, agent_id: str, log: LogCursor, senders: frozenset[str]) -> tuple[int, LogCursor]:
        """Erase the person's messages in the next rows of a log. Returns the number of rows, and the cursor behind them."""
        rows = self._records.conversations.logs.own_rows([log.conversation], IdRange(log.after or None), limit=ROWS)
        run_ids = list(dict.fromkeys(row.run_id for row in rows if row.sender_id in senders))
        if run_ids:
            self._parts.pause(erasure, agent_id, keep_agent=True)
            self._parts.begin(erasure.id, ErasureLine(kind="agent", id=agent_id, extent="parts"))
            self._parts.unpack(agent_id)
        for run_id in run_ids:
            if run_id is not None:
                self._runs.erase(erasure, run_id)
        result, log = erase_rows(rows, log, senders)
        self._rewrite(agent_id, log.conversation, rows, result)
        return len(rows), log

    def _rewrite(self, agent_id: str, conversation: str, before: Sequence[Message], erased: Sequence[Message]) -> None:
        otids = {row.id: row.otid for row in before if row.otid}
        for start in range(0, len(erased), _ROWS_AT_ONCE):
            some = erased[start : start + _ROWS_AT_ONCE]
            changes: list[Change] = [*self._records.conversations.erase_rows(conversation, some)]
            changes += [self._stores.idempotency.forget(conversation, otids[row.id]) for row in some if row.id in otids]
            ids = [row.id for row in some]
            changes += self._stores.search_outbox.pointer(agent_id, "message", ids, within=conversation, gone=True)
            self._parts.write(changes)

    def _finish(self, erasure: StoredErasure, agent_id: str, log: LogCursor) -> None:
        """Erase everything derived from the person's messages, and let the agent accept messages again."""
        self._runs.end_schedules(erasure, agent_id)
        line = self._parts.stores.erasures.line(erasure.id, "agent", agent_id)
        if line is None or line.extent != "parts" or line.done:
            return
        agent = self._records.agents.get(agent_id)
        if agent is not None:
            self._parts.pause(erasure, agent_id, keep_agent=True)
            sleepers = sleepers_of(self._records, agent) if log.rows else ()
            rows = log.rows + sum(self._forget_transcripts(sleeper) for sleeper in sleepers)
            for each in (agent, *sleepers):
                self._parts.unpack(each.id)  # once more: it may have been put to rest since
                self._parts.forget_traces(each.id)
                for conversation in self._parts.conversations(each.id):
                    self._renew(each, conversation)
            line = self._parts.stores.erasures.line(erasure.id, "agent", agent_id) or line
            line = line.model_copy(update={"counts": {**line.counts, "messages": rows}})
        changes = self._parts.stores.erasures.put_line(erasure.id, line.model_copy(update={"done": True}))
        self._parts.write([*changes, *self._parts.resumed(erasure, agent_id)])

    def finish_left(self, erasure: StoredErasure) -> None:
        """Finish the agents whose lines were written behind the cursor."""
        for line in self._parts.stores.erasures.lines(erasure.id, "agent"):
            if line.extent == "parts" and not line.done:
                self._finish(erasure, line.id, LogCursor(rows=line.counts.get("messages", 0)))

    def _forget_transcripts(self, sleeper: StoredAgent) -> int:
        """Erase the logs of a sleep-time agent: it received the messages of all persons."""
        total = 0
        self._parts.unpack(sleeper.id)
        for conversation in self._parts.conversations(sleeper.id):
            log = LogCursor(conversation=conversation)
            while rows := self._records.conversations.logs.own_rows([conversation], IdRange(log.after or None), limit=ROWS):
                found, log = erase_rows(rows, log, None)
                self._rewrite(sleeper.id, conversation, rows, found)
            total += log.rows
        return total

    def _renew(self, agent: StoredAgent, conversation: str) -> None:
        """Write a new system message from the memory of now: the old one quotes memory of before, and a new window makes all
        processes read the rows again. Raises: ErasureWaits while a run owns the conversation.
        """
        self._records.until_settled(lambda: self._renewed(agent, conversation))
        self._records.conversations.forget(conversation)

    def _renewed(self, agent: StoredAgent, conversation: str) -> None:
        records, head = self._records, self._records.conversations.head(conversation)
        if head is None or not head.window.pinned:
            return
        if head.owner is not None:
            raise ErasureWaits
        record = records.conversation_records.get(conversation) if conversation != agent.id else None
        old, token = head.window.pinned[0], records.ids.token()
        system_id = records.ids.new("message", after=head.last_message)
        blocks = self._parts.prompts.blocks_of(agent, record)
        compiled = self._parts.prompts.compiled(agent, head, blocks=blocks, in_window=head.messages)
        row = system_row(system_id, agent, compiled, compiled.at, record.id if record else None)
        window = Window(pinned=[system_id, *head.window.pinned[1:]], cut=head.window.cut)
        # The next run compiles it once more: a conversation may have a model and instructions of its own.
        changes = {"window": window, "compiled": None, "version": head.version + 1, "last_message": system_id}
        after = head.model_copy(update={**changes, "newest": [system_id]})
        records.writer.write(
            records.conversations.change_head(head, after, token),
            records.deletion.message(head.id, old),
            *records.conversations.put_rows(head, [row]),
            token=token,
        )
