"""Jobs: runs in the form of an older resource (Letta V1 API, API 3; RT 13.6)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.domain.wire.listing import FilteredPage
from hibernaut.rest.dependencies import Services, TheServices
from hibernaut.rest.http.json_responses import filtered, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.queries import JobList, JobListQuery
from hibernaut.schemas.runs.job import Job

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=LazyRoute)


@router.get("", response_model=list[Job])
def list_jobs(services: TheServices, query: JobListQuery) -> Response:
    """A page of jobs. Cursors follow the requested order."""
    return filtered(_page(services, query, active=query.active))


@router.get("/active", response_model=list[Job], deprecated=True)
def list_active_jobs(services: TheServices, query: JobListQuery) -> Response:
    """The jobs that have not ended."""
    return filtered(_page(services, query, active=True))


@router.get("/{job_id}", response_model=Job)
def retrieve_job(services: TheServices, job_id: str) -> Response:
    """One job."""
    return reply(services.jobs.get(job_id))


@router.patch("/{job_id}/cancel", response_model=Job)
def cancel_job(services: TheServices, job_id: str) -> Response:
    """Cancel a job. A job that has ended stays unchanged."""
    return reply(services.jobs.cancel(job_id))


@router.delete("/{job_id}", response_model=Job)
def delete_job(services: TheServices, job_id: str) -> Response:
    """Delete a job that has ended. The reply is the deleted job."""
    return reply(services.jobs.delete(job_id))


def _page(services: Services, query: JobList, *, active: bool) -> FilteredPage[Job]:
    return FilteredPage([]) if query.source_id is not None else services.jobs.page(query.page(), active=active)
