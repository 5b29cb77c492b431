"""Jobs: runs, as clients of the older resource see them (Letta V1 API, digest 3; run-time digest 13.6)."""

from __future__ import annotations

from dataclasses import replace

from hibernaut.domain.wire.listing import FilteredPage, Page
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.job import Job, job_of
from hibernaut.schemas.stop import StopReason
from hibernaut.services.runs.runs import RunQuery, Runs
from hibernaut.services.turns.run_termination import RunTermination

JOB, RUN = "job-", "run-"


class Jobs:
    """Runs in the shape of V1's jobs."""

    def __init__(self, *, runs: Runs, endings: RunTermination) -> None:
        self._runs = runs
        self._endings = endings

    def get(self, job_id: str) -> Job:
        """Raises: InvalidArgument for what is no id of a job, NotFound."""
        return job_of(self._runs.get(_run_id(job_id)))

    def page(self, asked: Page, *, active: bool) -> FilteredPage[Job]:
        """Cursors follow the order asked for; it looks as far as a page of runs. Raises: InvalidArgument and NotFound for a cursor."""
        before, after = (None if cursor is None else _run_id(cursor) for cursor in (asked.before, asked.after))
        query = RunQuery(page=replace(asked, before=before, after=after), active=active)
        found = self._runs.page(query)
        return FilteredPage([job_of(run) for run in found.rows], found.rest)

    def cancel(self, job_id: str) -> Job:
        """End the run; nothing happens where it has ended. Raises: InvalidArgument, NotFound, Conflict where it does not settle."""
        run_id = _run_id(job_id)
        self._runs.get(run_id)
        self._endings.end(run_id, StopReason.CANCELLED)
        return self.get(job_id)

    def delete(self, job_id: str) -> Job:
        """The job as it was. Raises: InvalidArgument, NotFound, Conflict while it goes on."""
        return job_of(self._runs.delete(_run_id(job_id)))


def _run_id(job_id: str) -> str:
    """A run is named by its own id, or by the same uuid behind the prefix of jobs."""
    run_id = RUN + job_id.removeprefix(JOB) if job_id.startswith(JOB) else job_id
    if not is_id(run_id, "run"):
        raise InvalidArgument(f"Invalid job ID format: {job_id}. Expected format: 'run-<uuid4>' or 'job-<uuid4>'")
    return run_id
