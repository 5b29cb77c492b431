"""Writes the pieces of a reply to the run's event log, and checks the lease while the model replies.

Pieces are batched for a short time, so that a stream is tens of small writes. Each write is put-if-absent at the next event
number. If the number is taken, the writer first reads the end of the log and then checks its lease. This order ensures that no
piece follows the closing events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from hibernaut.domain.wire.deltas import DeltaRenderer, merged
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.models.model_call import Delta
from hibernaut.schemas.runs.events import DeltaEvent, DoneEvent
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.services.host import Host
from hibernaut.services.models.model_retry import CancellationWatch
from hibernaut.services.steps.step_lease import LeaseLost, check_held
from hibernaut.services.steps.step_work import StepWork
from hibernaut.store.runs.runs import RunState
from hibernaut.store.stores import TenantStores

TRIES = 100
"""How often one batch is written at other event numbers before the step fails."""
NEVER = float("inf")


class DeltaSink(CancellationWatch):
    """Receives the pieces of a step's reply for one attempt. `renderer` renders them; None: the run's followers get whole
    messages only.

    `speaker` is the configuration of the fallback model while it is called, else None.
    """

    def __init__(self, stores: TenantStores, host: Host, work: StepWork, renderer: DeltaRenderer | None) -> None:
        super().__init__(host, partial(check_held, stores.runs, work.state), work.state.run.id)
        self.streams = renderer is not None
        self.speaker: LLMConfig | None = None
        self.renderer = renderer
        self.state: RunState = work.state
        self._runs = stores.runs
        self._writer = stores.writer
        self._gathered: list[DeltaEvent] = []
        self._written_at = -NEVER

    def due(self) -> float:
        """The time on the monotonic clock at which `see_to` has work to do."""
        writes = self._written_at + self._host.gather if self._gathered else NEVER
        return min(writes, super().due())

    def began(self) -> None:
        """Note that a piece of the reply has arrived. From now on the call must not be retried."""
        self.has_begun = True

    def hear(self, deltas: Sequence[Delta]) -> None:
        """Batch these pieces. `see_to` writes the batch when it is due."""
        if self.renderer is not None:
            for delta in deltas:
                self._gathered = merged(self._gathered, self.renderer.hear(delta))

    def see_to(self, now: float) -> None:
        """Write the batch and check the lease if they are due at `now`. Raises: LeaseLost."""
        if self._gathered and now >= self._written_at + self._host.gather:
            self._write()
        super().see_to(now)

    def end(self, *, whole: bool) -> None:
        """Write the remaining pieces. `whole`: the reply is complete, not aborted. Raises: LeaseLost."""
        if self.renderer is not None and whole and self.renderer.shown:
            self._gathered = merged(self._gathered, self.renderer.end())
        if self._gathered:
            self._write()

    def _write(self) -> None:
        events = self._gathered
        for attempt in range(1, TRIES + 1):
            first = self.state.next_seq
            token = f"{self.state.token}.{first}"
            put = self._runs.put_events(self.state.run.id, first, events, self._clock.now(), token=token)
            try:
                self._writer.write(put, token=token)
            except ConditionFailed:
                if attempt == TRIES:
                    raise
                self._renumber()
                continue
            self.state = replace(self.state, run=self._timed(), next_seq=first + len(events))
            self._gathered, self._written_at = [], self._clock.monotonic()
            self._host.signal.notify(self.state.run.id)
            return

    def _timed(self) -> StoredRun:
        """The run with its time to first token, which is measured in its first step only."""
        run = self.state.run
        if run.ttft_ns is not None or run.steps:
            return run
        return run.model_copy(update={"ttft_ns": int((self._clock.now() - run.created_at).total_seconds() * 1e9)})

    def _renumber(self) -> None:
        """Continue after the newest event of the log. The log is read before the lease is checked: if the lease still holds
        afterwards, the events that were read do not close the run. Raises: LeaseLost.
        """
        events = self._runs.events(self.state.run.id, self.state.next_seq - 1, self._clock.now())
        if any(isinstance(event, DoneEvent) for _, event in events):
            raise LeaseLost
        self.look()
        if events:
            self.state = replace(self.state, next_seq=events[-1][0] + 1)
