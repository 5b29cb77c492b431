"""Ending the runs of one conversation, and the conversation itself with what nobody refers to any more (Letta V1 API, digest 2.16)."""

from __future__ import annotations

from hibernaut.ports.table import Change
from hibernaut.schemas.conversation_record import StoredConversation
from hibernaut.schemas.errors import Conflict
from hibernaut.schemas.stop import StopReason
from hibernaut.services.endings import Endings
from hibernaut.services.records import Records

MOST_RUNS = 10_000
"""How many runs of a conversation are ended before deleting it is given up."""


class ConversationEnds:
    def __init__(self, records: Records, *, endings: Endings) -> None:
        self._records = records
        self._endings = endings

    def end_runs(self, tenant: str, conversation: str) -> None:
        """Those that wait first, so that none of them becomes the owner by the end of the one before it. Raises: Conflict."""
        for _ in range(MOST_RUNS):
            head = self._records.conversations.head(tenant, conversation)
            waiting = self._records.conversations.queue(tenant, conversation)
            open_run = waiting[-1] if waiting else (head.owner or head.pending) if head else None
            if open_run is None:
                return
            self._endings.end(tenant, open_run, StopReason.CANCELLED)
        raise Conflict(f"CONFLICT: {conversation} cannot be deleted: it keeps being sent messages.")

    def delete(self, tenant: str, record: StoredConversation) -> None:
        """End its runs, then the conversation, then what was said in it as far as no living fork refers to it. Raises: Conflict."""
        gone = [record.id]  # also where the answer to the deletion is lost, and it is found done
        self._records.until_settled(lambda: self._delete(tenant, record.id, gone))
        self._records.conversations.forget(tenant, record.id)
        for conversation in dict.fromkeys(gone):
            if self._records.conversations.head(tenant, conversation) is None:
                self._erase(tenant, record.agent_id, conversation)

    def _delete(self, tenant: str, conversation_id: str, gone: list[str]) -> None:
        """Nothing happens where it is gone already. The logs that it shared are added to `gone`."""
        records = self._records
        record = records.conversation_records.get(tenant, conversation_id)
        if record is None:
            return
        self.end_runs(tenant, conversation_id)
        head = records.conversations.head(tenant, conversation_id)
        sources = list(dict.fromkeys(one.conversation for one in head.segments)) if head else []
        gone += sources
        blocks = records.blocks.get_many(tenant, record.isolated_block_ids).values()
        copies: list[Change] = [change for block in blocks for change in records.blocks.delete(tenant, block)]
        parents: list[Change] = [
            *records.conversation_records.delete(tenant, record),
            *(records.conversations.unshare(tenant, source, conversation_id) for source in sources),
            *([records.erasure.head(tenant, head)] if head else []),
        ]
        records.write(copies, parents, records.ids.token())

    def _erase(self, tenant: str, agent_id: str, conversation: str) -> None:
        """Nobody can fork a conversation that has ended, so what its forks refer to only becomes less."""
        conversations = self._records.conversations
        shared = [one for fork in conversations.forks(tenant, conversation) for one in fork.segments]
        kept: set[str] = set()
        for one in shared:
            if one.conversation == conversation:
                kept |= conversations.logs.shared(tenant, one)
        self._records.erasure.log(tenant, agent_id, conversation, kept)
