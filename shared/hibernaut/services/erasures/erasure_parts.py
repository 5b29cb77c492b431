"""What the steps of an erasure share: the stores of the tenant, the use cases that delete records, and the receipt."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.ports.storage.table import Change, ConditionFailed
from hibernaut.schemas.agents.erasure import ErasureLine, StoredErasure, Subject
from hibernaut.schemas.agents.pause import StoredPause
from hibernaut.schemas.immutable import immutable
from hibernaut.services.agents.agent_deletion import AgentDeletion
from hibernaut.services.files.files import Files
from hibernaut.services.host import Host
from hibernaut.services.prompt.system_messages import SystemMessages
from hibernaut.services.records import Records
from hibernaut.services.resting.resting import Resting
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.store.blob_collector import BlobCollector
from hibernaut.store.identities.erasures import PAGE
from hibernaut.store.stores import TenantStores

NOTED_AT_ONCE = 50
"""The largest number of lines of the receipt that one transaction begins."""
PAUSED_AT_ONCE = 40
"""The largest number of agents that one transaction pauses, by two changes each."""
LEASE_MS = 60_000
"""Milliseconds after the last page of a worker from which the sweep continues its erasure."""


class ErasureWaits(Exception):
    """The erasure cannot continue now: a run holds a record, a blob is too young, or the index still has a document. The sweep
    retries.

    `progress`: the erasure as it is stored until then; None: unchanged.
    """

    def __init__(self, progress: StoredErasure | None = None) -> None:
        self.progress = progress
        super().__init__()


@immutable
class ErasureParts:
    """The collaborators of one tenant's erasures. `index` None: the deployment has no index of memory, or this process does not
    reach it.
    """

    stores: TenantStores
    records: Records
    blobs: BlobCollector
    host: Host
    deletion: AgentDeletion
    termination: RunTermination
    prompts: SystemMessages
    files: Files
    index: MemoryIndex | None

    def write(self, changes: Sequence[Change]) -> None:
        """Write changes in one transaction."""
        self.stores.writer.write(*changes)

    def begin(self, erasure_id: str, line: ErasureLine) -> None:
        """Write a line of the receipt, unless it has one of the record: the counts of the first worker remain."""
        with suppress(ConditionFailed):
            self.write(self.stores.erasures.begin_line(erasure_id, line))

    def plan(self, erasure_id: str, kind: Subject, ids: Sequence[str]) -> None:
        """Note records that are examined later, up to `NOTED_AT_ONCE` of them in one transaction."""
        distinct = list(dict.fromkeys(ids))
        for start in range(0, len(distinct), NOTED_AT_ONCE):
            lines = [ErasureLine(kind=kind, id=subject) for subject in distinct[start : start + NOTED_AT_ONCE]]
            try:
                self.write([change for line in lines for change in self.stores.erasures.begin_line(erasure_id, line)])
            except ConditionFailed:  # the receipt has lines of some of them
                for line in lines:
                    self.begin(erasure_id, line)

    def put(self, erasure_id: str, line: ErasureLine) -> None:
        """Replace a line of the receipt."""
        self.write(self.stores.erasures.put_line(erasure_id, line))

    def pause(self, erasure: StoredErasure, agent_id: str, *, keep_agent: bool = False) -> None:
        """Refuse further messages to an agent. `keep_agent`: the agent stays, and so does a pause by the user. Does nothing if
        the agent is deleted.
        """
        if keep_agent and self.stores.pauses.get(agent_id) is not None:
            return
        with suppress(ConditionFailed):
            self.write(self.stores.pauses.pause(agent_id, self._pause_of(erasure)))

    def pause_all(self, erasure: StoredErasure, agent_ids: Sequence[str]) -> None:
        """Refuse further messages to agents, up to `PAUSED_AT_ONCE` of them in one transaction. Deleted agents are left out."""
        for start in range(0, len(agent_ids), PAUSED_AT_ONCE):
            some, pause = agent_ids[start : start + PAUSED_AT_ONCE], self._pause_of(erasure)
            try:
                self.write([change for agent_id in some for change in self.stores.pauses.pause(agent_id, pause)])
            except ConditionFailed:  # one of them is deleted
                for agent_id in some:
                    self.pause(erasure, agent_id)

    def _pause_of(self, erasure: StoredErasure) -> StoredPause:
        return StoredPause(paused_at=self.host.clock.now(), key_id=erasure.key_id, erasure_id=erasure.id)

    def resumed(self, erasure: StoredErasure, agent_id: str) -> Sequence[Change]:
        """The change that ends the pause of this erasure; nothing if there is none."""
        pause = self.stores.pauses.get(agent_id)
        return [self.stores.pauses.resume(agent_id)] if pause is not None and pause.erasure_id == erasure.id else []

    def conversations(self, agent_id: str) -> list[str]:
        """The ids of an agent's conversations; the default one comes first and has the agent's id."""
        return [agent_id, *self.records.conversation_records.ids(agent_id)]

    def unpack(self, agent_id: str) -> None:
        """Bring the bodies of an agent's messages and runs back from its packs, and delete these. Raises: OSError,
        StoreUnavailable; a repeated call continues.
        """
        Resting(self.stores, self.host.clock).unpack(agent_id)

    def forget_traces(self, agent_id: str) -> int:
        """Delete the traces of all runs of an agent: each holds the messages that its model was sent. Returns the number of
        steps. Raises: OSError.
        """
        steps, after = 0, ""
        while runs := self.stores.erasures.run_ids(agent_id, after):
            for run_id, step_id in self.stores.erasures.steps_of(runs):
                self.stores.traces.delete(run_id, step_id)
                steps += 1
            after = runs[-1]
            if len(runs) < PAGE:
                break
        return steps


def is_planned(line: ErasureLine) -> bool:
    """Whether the record of a line is still to be examined. Agents that stay are done with their logs."""
    return not line.done and not (line.kind == "agent" and line.extent == "parts")
