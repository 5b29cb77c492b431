"""Puts an agent to rest and wakes it.

An agent at rest has the bodies of its messages in packs, one for about a megabyte. Its rows stay, without bodies, so lists,
searches, exports, forks and deletions find and read them as before, and wake nobody. The next message to a conversation wakes
this conversation: the rows of its window get their bodies back, all others stay packed (decision 49).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import ConditionFailed, TableError
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.errors import StoreUnavailable, place_of
from hibernaut.schemas.ids import creation_time
from hibernaut.services.resting.log_packing import LogPacking
from hibernaut.services.resting.pack_writer import Allowance, PackWriter
from hibernaut.services.resting.run_packing import RunPacking
from hibernaut.store.stores import TenantStores

CONVERSATIONS_AT_ONCE = 100
"""Conversations of an agent whose heads are read together."""
logger = logging.getLogger(__name__)


class Resting:
    """Rest and waking of one tenant's agents."""

    def __init__(self, stores: TenantStores, clock: Clock) -> None:
        self._stores = stores
        packs = PackWriter(stores, clock)
        self._logs, self._runs = LogPacking(stores, packs), RunPacking(stores, packs)

    def rest(self, agent_id: str, *, idle_since: datetime, allowance: Allowance) -> bool:
        """Put the agent's conversations to rest that are free and whose newest message is older than `idle_since`. False: the
        allowance ended first, and a repeated call continues. Raises: StoreUnavailable, OSError.
        """
        for heads in self._heads(agent_id):
            for head in heads:
                if _is_idle(head, idle_since) and self._is_marked(head) and not self._logs.pack(head, allowance):
                    return False
        return self._runs.pack(agent_id, allowance)

    def wake(self, head: Head) -> None:
        """Wake a conversation that has accepted a message. A failure is logged: its rows are read from their packs until the next
        message wakes it.
        """
        if not head.resting:
            return
        try:
            rows = self._logs.bring_back(head)
        except (OSError, KeyError, StoreUnavailable, TableError) as error:
            fields = {"agent_id": head.agent_id, "error": type(error).__qualname__, "place": place_of(error)}
            logger.error("conversation could not be woken", extra=fields)
            return
        logger.info("conversation woken", extra={"agent_id": head.agent_id, "rows": rows})

    def unpack(self, agent_id: str) -> None:
        """Bring back all bodies of all conversations of an agent and delete its packs, so that what is changed or deleted
        afterwards is nowhere else.
        Raises: StoreUnavailable, OSError; a repeated call continues.
        """
        for heads in self._heads(agent_id):
            for head in heads:
                for log in {head.id, *(segment.conversation for segment in head.segments)}:
                    self._logs.unpack(log)
        self._runs.unpack(agent_id)

    def _heads(self, agent_id: str) -> Iterator[list[Head]]:
        """The heads of an agent's conversations, the default one first, page by page."""
        conversations = self._stores.conversations
        yield [head for head in [conversations.head(agent_id)] if head is not None]
        for ids in self._stores.conversation_records.pages(agent_id, CONVERSATIONS_AT_ONCE):
            yield list(conversations.heads(ids).values())

    def _is_marked(self, head: Head) -> bool:
        """Whether the conversation rests, as marked now or before. False: somebody writes to it."""
        if head.resting:
            return True
        try:
            self._stores.writer.write(self._stores.resting.rest(head))
        except ConditionFailed:
            return False
        return True


def _is_idle(head: Head, since: datetime) -> bool:
    busy = head.owner or head.pending or head.waiting
    return not busy and head.last_message is not None and creation_time(head.last_message) < since
