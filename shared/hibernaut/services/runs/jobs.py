"""Jobs: runs, as clients of the older resource see them (Letta V1 API, API 3; RT 13.6)."""

from __future__ import annotations

from dataclasses import replace

from hibernaut.domain.wire.listing import FilteredPage, Page
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.runs.job import Job, job_of
from hibernaut.schemas.stop import StopReason
from hibernaut.services.runs.runs import RunQuery, Runs
from hibernaut.services.turns.run_termination import RunTermination

JOB, RUN = "job-", "run-"


class Jobs:
    """Runs in the shape of V1's jobs."""

    def __init__(self, *, runs: Runs, termination: RunTermination) -> None:
        self._runs = runs
        self._termination = termination

    def get(self, job_id: str) -> Job:
        """One job. Raises: InvalidArgument for a malformed job id, NotFound."""
        return job_of(self._runs.get(_run_id(job_id)))

    def page(self, page_query: Page, *, active: bool) -> FilteredPage[Job]:
        """A page of jobs. Cursors follow the requested order. The search limit is that of `Runs.page`.

        Raises: InvalidArgument for a malformed cursor, NotFound for an unknown one.
        """
        before, after = (None if cursor is None else _run_id(cursor) for cursor in (page_query.before, page_query.after))
        query = RunQuery(page=replace(page_query, before=before, after=after), active=active)
        found = self._runs.page(query)
        return FilteredPage([job_of(run) for run in found.rows], found.rest)

    def cancel(self, job_id: str) -> Job:
        """Cancel the job's run. Nothing happens to a run that has ended, but its pending approval request is withdrawn.

        Raises: InvalidArgument, NotFound; Conflict if the run keeps changing.
        """
        run_id = _run_id(job_id)
        self._runs.get(run_id)
        self._termination.end(run_id, StopReason.CANCELLED)
        return self.get(job_id)

    def delete(self, job_id: str) -> Job:
        """Delete the job's run. Returns the deleted job. Raises: InvalidArgument, NotFound; Conflict if the run has not ended, or
        waits for an approval.
        """
        return job_of(self._runs.delete(_run_id(job_id)))


def _run_id(job_id: str) -> str:
    """The run id of a job id. A job id is the run's id, or the run's uuid with the prefix `job-`. Raises: InvalidArgument."""
    run_id = RUN + job_id.removeprefix(JOB) if job_id.startswith(JOB) else job_id
    if not is_id(run_id, "run"):
        raise InvalidArgument(f"Invalid job ID format: {job_id}. Expected format: 'run-<uuid4>' or 'job-<uuid4>'")
    return run_id
