"""Ending the runs of one conversation, and the conversation itself with what nobody refers to any more (Letta V1 API, digest 2.16).

What an agent or a conversation leaves behind is taken away here, by who deletes it, and by whoever goes on where that broke off.
"""

from __future__ import annotations

from contextlib import suppress

from hibernaut.ports.table import Change, ConditionFailed
from hibernaut.schemas.conversation_record import StoredConversation
from hibernaut.schemas.errors import Conflict
from hibernaut.schemas.stop import StopReason
from hibernaut.services.records import Records
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.store.deletion import DeletionTombstone

MOST_RUNS = 10_000
"""How many runs of a conversation are ended before deleting it is given up."""
AT_ONCE = 16
"""Conversations of an agent whose records are read together when they are deleted."""


class ConversationDeletion:
    """Ends a conversation's runs and deletes conversations."""

    def __init__(self, records: Records, *, endings: RunTermination) -> None:
        self._records = records
        self._endings = endings

    def end_runs(self, conversation: str) -> None:
        """Those that wait first, so that none of them becomes the owner by the end of the one before it. Raises: Conflict."""
        for _ in range(MOST_RUNS):
            head = self._records.conversations.head(conversation)
            waiting = self._records.conversations.queue(conversation)
            open_run = waiting[-1] if waiting else (head.owner or head.pending) if head else None
            if open_run is None:
                return
            self._endings.end(open_run, StopReason.CANCELLED)
        raise Conflict(f"CONFLICT: {conversation} cannot be deleted: it keeps being sent messages.")

    def delete(self, record: StoredConversation) -> None:
        """End its runs, then the conversation, then what was said in it as far as no living fork refers to it. Raises: Conflict."""
        self._records.until_settled(lambda: self._delete(record.id))
        self.go_on(record.id)

    def delete_all(self, agent_id: str) -> None:
        """Those of an agent, but its own one. Raises: Conflict."""
        records = self._records.conversation_records
        for ids in records.pages(agent_id, AT_ONCE):
            for record in records.get_many(ids).values():
                self.delete(record)

    def go_on(self, identifier: str) -> bool:
        """Take away what an agent or a conversation that is gone has left. False: nothing is left, or it is not gone. Raises: Conflict."""
        records = self._records
        left = records.deletion.left(identifier)
        if left is None:
            return False
        records.conversations.forget(identifier)
        if identifier == left.agent_id:
            self.delete_all(identifier)  # without an agent no conversation is made any more
            records.deletion.agent(identifier)
        for number, conversation in enumerate(left.to_do()):
            if number:
                records.deletion.reach(identifier, conversation)
            if records.conversations.head(conversation) is None:
                self._delete_log(identifier, left, conversation)
        records.deletion.done(identifier)
        return True

    def _delete(self, conversation_id: str) -> None:
        """Nothing happens where it is gone already."""
        records = self._records
        record = records.conversation_records.get(conversation_id)
        if record is None:
            return
        self.end_runs(conversation_id)
        head = records.conversations.head(conversation_id)
        sources = list(dict.fromkeys(one.conversation for one in head.segments)) if head else []
        left = DeletionTombstone(record.agent_id, tuple(dict.fromkeys([conversation_id, *sources])))
        blocks = records.blocks.get_many(record.isolated_block_ids).values()
        copies: list[Change] = [change for block in blocks for change in records.blocks.delete(block)]
        parents: list[Change] = [
            *records.conversation_records.delete(record),
            *(records.conversations.unshare(source, conversation_id) for source in sources),
            *([records.deletion.head(head)] if head else []),
            records.deletion.tombstone(conversation_id, left, records.clock.now()),
        ]
        records.write(copies, parents, records.ids.token())

    def _delete_log(self, identifier: str, left: DeletionTombstone, conversation: str) -> None:
        """Nobody can fork a conversation that has ended, so what its forks refer to only becomes less."""
        deletion = self._records.deletion
        forks = self._records.conversations.forks(conversation)
        shared = [one for fork in forks for one in fork.segments if one.conversation == conversation]
        if not shared:
            deletion.log(left.agent_id, conversation)
            return
        with suppress(ConditionFailed):  # another worker is done with it
            deletion.shared_log(identifier, left, conversation, shared)
