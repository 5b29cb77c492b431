"""Which run continues a run that has stopped for an approval: the answer starts a new run, and that one may stop for an approval
again.
"""

from __future__ import annotations

from hibernaut.schemas.faults.run_faults import no_run
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.approval import PendingApproval
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.stop import StopReason
from hibernaut.store.stores import TenantStores

MOST_ANSWERS = 100
"""The largest number of answers that are followed in one look."""


@immutable
class Continuation:
    """The newest run of a chain. `pending`: the approval that it waits for."""

    run: StoredRun
    pending: PendingApproval | None = None


class RunContinuations:
    """Follows runs over the answers to their approvals."""

    def __init__(self, stores: TenantStores) -> None:
        self._runs = stores.runs
        self._approvals = stores.approvals

    def newest(self, run_id: str) -> Continuation:
        """The run itself, or the run that continues it by now. Raises: NotFound."""
        run = self._run(run_id)
        for _ in range(MOST_ANSWERS):
            if run.stop_reason is not StopReason.REQUIRES_APPROVAL:
                return Continuation(run)
            state = self._approvals.get(run.id)
            record = state.record if state is not None else None
            if record is None or record.consumed_by == run.id:
                return Continuation(run)
            if record.consumed_by is None:
                return Continuation(run, record)
            run = self._run(record.consumed_by)
        return Continuation(run)

    def _run(self, run_id: str) -> StoredRun:
        state = self._runs.get(run_id)
        if state is None:
            raise no_run(run_id)
        return state.run
