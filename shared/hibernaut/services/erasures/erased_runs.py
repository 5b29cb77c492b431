"""Erases the runs of a person at agents that stay: their records, steps, events and traces, the passages that they stored, and
schedules that send the person's messages.

What a run of the person changed in blocks that stay is not taken back: the receipt names these blocks, so that somebody can look.
"""

from __future__ import annotations

from datetime import timedelta

from hibernaut.schemas.agents.erasure import ErasureLine, StoredErasure
from hibernaut.schemas.ids import as_of
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.stop import StopReason
from hibernaut.services.erasures.erasure_parts import ErasureParts
from hibernaut.store.memory.passages import RunPassage
from hibernaut.store.table import keys
from hibernaut.store.versions.version_keys import VERSION

MARGIN = timedelta(seconds=5)
"""How far the time of a passage may lie outside the time of its run."""


class ErasedRuns:
    """The runs of an erasure at agents that stay."""

    def __init__(self, parts: ErasureParts) -> None:
        self._parts = parts
        self._stores = parts.stores
        self._records = parts.records

    def erase(self, erasure: StoredErasure, run_id: str) -> None:
        """End a run and erase it with what it has stored. Its rows stay in the log. Raises: Conflict, OSError; a repeated call
        continues.
        """
        if self._stores.runs.get(run_id) is None:
            return
        self._parts.termination.end(run_id, StopReason.CANCELLED)
        state = self._stores.runs.get(run_id)
        if state is None:
            return
        for archive_id in self._records.archives.of_agent(state.run.agent_id):
            self._passages(erasure, archive_id, state.run)
        self._review(erasure, state.run)
        for _, step_id in self._parts.stores.erasures.steps_of([run_id]):
            self._stores.traces.delete(run_id, step_id)
        self._stores.deletion.run(state.run)

    def _passages(self, erasure: StoredErasure, archive_id: str, run: StoredRun) -> None:
        """Erase the passages of an archive that the run has stored, by the authors that their versions name."""
        end = (run.completed_at or self._parts.host.clock.now()) + MARGIN
        first, last = (as_of(f"passage-{run.id[-36:]}", at) for at in (run.created_at - MARGIN, end))
        for passage in self._stores.passages.of_run(archive_id, run.id, first, last):
            line = ErasureLine(
                kind="passage", id=passage.id, extent="whole", version=passage.version, hash=passage.hash, done=True
            )
            self._parts.begin(erasure.id, line)
            self._erase_passage(archive_id, passage)

    def _erase_passage(self, archive_id: str, passage: RunPassage) -> None:
        def attempt() -> None:
            if self._stores.passages.existing(archive_id, [passage.id]):
                token = self._records.ids.token()
                changes = self._stores.archives.erase(archive_id, passage.id, passage.tags, token)
                self._stores.writer.write(*changes, token=token)

        items = self._stores.passages.items(archive_id, [passage.id])
        self._records.until_settled(attempt)
        self._records.deletion.forget_blobs(items)
        self._parts.stores.erasures.empty(keys.archive(self._records.tenant, archive_id).pk, f"{VERSION}{passage.id}#")

    def _review(self, erasure: StoredErasure, run: StoredRun) -> None:
        """Note the blocks that the run changed and that are not erased."""
        if not run.memory_versions:
            return
        line = self._parts.stores.erasures.line(erasure.id, "agent", run.agent_id)
        line = line or ErasureLine(kind="agent", id=run.agent_id, extent="parts")
        if line.extent == "parts":
            self._parts.put(erasure.id, line.model_copy(update={"to_review": sorted({*line.to_review, *run.memory_versions})}))

    def end_schedules(self, erasure: StoredErasure, agent_id: str) -> None:
        """Delete the schedules of an agent that send messages of the person."""
        schedules = self._parts.stores.schedules
        ids = [keys.last_part(str(row["sk"])) for row in schedules.rows(agent_id).all()]
        for state in schedules.get_many(ids, self._parts.host.clock.now()) if ids else ():
            if any(one.sender_id in erasure.senders for one in state.record.message.messages):
                self._parts.write(schedules.delete(state))
