"""Deletes a conversation: its runs, its record, and the messages that no fork refers to (Letta V1 API, API 2.16).

The records that a deleted agent or conversation leaves are deleted here too, by the same request or by the one that resumes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from hibernaut.domain.window import forks
from hibernaut.ports.storage.table import Change, ConditionFailed
from hibernaut.schemas.agents.conversation import Segment
from hibernaut.schemas.agents.conversation_record import StoredConversation
from hibernaut.schemas.errors import Conflict
from hibernaut.schemas.stop import StopReason
from hibernaut.services.parallel_map import in_parallel
from hibernaut.services.records import Records
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.store.deletion import DeletionTombstone

MOST_RUNS = 10_000
"""The largest number of runs that a deletion ends before it fails with Conflict."""
CONVERSATIONS_AT_ONCE = 16
"""Conversations of an agent whose records a deletion reads in one batch."""


class ConversationDeletion:
    """Ends a conversation's runs and deletes conversations."""

    def __init__(self, records: Records, *, termination: RunTermination, threads: int = 1) -> None:
        """`threads`: the number of conversations of an agent that are deleted at once."""
        self._records = records
        self._termination = termination
        self._threads = threads

    def end_runs(self, conversation: str) -> None:
        """End all runs, queued ones first: the end of the owner would otherwise start the next one. Raises: Conflict."""
        for _ in range(MOST_RUNS):
            head = self._records.conversations.head(conversation)
            queued = self._records.conversations.queue(conversation)
            open_run = queued[-1] if queued else (head.owner or head.pending) if head else None
            if open_run is None:
                return
            self._termination.end(open_run, StopReason.CANCELLED)
        raise Conflict(f"CONFLICT: {conversation} cannot be deleted: it keeps being sent messages.")

    def delete(self, record: StoredConversation, *, with_forks: bool = False) -> None:
        """End the runs, delete the conversation, then the messages that no existing fork refers to. `with_forks`: as in `go_on`.
        Raises: Conflict.
        """
        shared = self._records.until_settled(lambda: self._delete(record.id))
        self.go_on(record.id, shared, with_forks=with_forks)

    def delete_all(self, agent_id: str) -> None:
        """Delete all conversations of an agent except its default one. Raises: Conflict."""
        records = self._records.conversation_records
        for ids in records.pages(agent_id, CONVERSATIONS_AT_ONCE):
            found = list(records.get_many(ids).values())
            in_parallel(self._threads, lambda record: self.delete(record, with_forks=True), found)

    def go_on(self, identifier: str, shared: Sequence[Segment] = (), *, with_forks: bool = False) -> bool:
        """Delete the records that a deleted agent or conversation has left. `shared`: the segments of a deleted fork. What the
        newest other fork shares too stays, and is not read. `with_forks`: its agent's other forks are being deleted too. What
        they share with it goes with the last of them, so that not each of them reads all others. False: none are left, or it
        still exists. Raises: Conflict.
        """
        records = self._records
        tombstone = records.deletion.open_tombstone(identifier)
        if tombstone is None:
            return False
        records.conversations.forget(identifier)
        if identifier == tombstone.agent_id:
            self.delete_all(identifier)  # no conversation can be created without its agent
            records.deletion.agent(identifier)
        for number, conversation in enumerate(tombstone.to_do()):
            if number:
                records.deletion.reach(identifier, conversation)
            if number and with_forks and records.conversations.is_shared(conversation):
                continue
            if records.conversations.head(conversation) is None and not self._is_kept(conversation, shared):
                self._delete_log(identifier, tombstone, conversation)
        records.deletion.done(identifier)
        return True

    def _is_kept(self, conversation: str, shared: Sequence[Segment]) -> bool:
        """Whether one fork that exists shares all rows of the log that a deleted fork with these segments shared."""
        own = [one for one in shared if one.conversation == conversation]
        fork = self._records.conversations.newest_fork(conversation) if own else None
        return fork is not None and forks.holds(fork.segments, own)

    def _delete(self, conversation_id: str) -> Sequence[Segment]:
        """Delete the conversation's record and head, and leave a tombstone; does nothing if the record is deleted already.
        Returns the segments of the conversation.
        """
        records = self._records
        record = records.conversation_records.get(conversation_id)
        if record is None:
            return ()
        self.end_runs(conversation_id)
        head = records.conversations.head(conversation_id)
        segments = head.segments if head else []
        sources = list(dict.fromkeys(one.conversation for one in segments))
        tombstone = DeletionTombstone(record.agent_id, tuple(dict.fromkeys([conversation_id, *sources])))
        blocks = records.blocks.get_many(record.isolated_block_ids).values()
        now, token = records.clock.now(), records.ids.token()
        copies: list[Change] = [change for block in blocks for change in records.blocks.delete(block, now, token)]
        parents: list[Change] = [
            *records.conversation_records.delete(record),
            *(records.conversations.unshare(source, conversation_id) for source in sources),
            *([records.deletion.head(head)] if head else []),
            records.deletion.tombstone(conversation_id, tombstone, now),
        ]
        records.write(copies, parents, token)
        return segments

    def _delete_log(self, identifier: str, tombstone: DeletionTombstone, conversation: str) -> None:
        """Delete the log of a conversation, except the rows that forks share.

        A deleted conversation cannot be forked, so the set of shared rows only shrinks.
        """
        deletion = self._records.deletion
        heads = self._records.conversations.forks(conversation)
        shared = [one for head in heads for one in head.segments if one.conversation == conversation]
        if not shared:
            deletion.log(tombstone.agent_id, conversation)
            return
        with suppress(ConditionFailed):  # another worker has finished it
            deletion.shared_log(identifier, tombstone, conversation, shared)
