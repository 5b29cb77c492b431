"""Jobs (digest 3 and 4.8, run-time digest 13.6)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    diverging(
        "jobs.retrieve",
        "RT 13.6",
        "A run is shown as a job of type `run`.",
        "V1 keeps jobs for file uploads and batches only; clients that are older than its runs look here for what is under way.",
        "GET /v1/jobs/{job_id}",
    ),
    diverging(
        "jobs.ids",
        "API 1.3",
        "A job bears the id of its run; `job-` with the same uuid is taken as well. What is neither is 400, an unknown one 404.",
        "V1 gives jobs ids of their own. One thing has one name here, with which `/v1/runs` can be asked too.",
    ),
    done(
        "jobs.list",
        "API 3",
        "GET /v1/jobs/ lists jobs, the newest first; cursors follow the order; `active` keeps the open ones.",
        "GET /v1/jobs/",
    ),
    done("jobs.active", "API 3", "GET /v1/jobs/active lists those that have not ended.", "GET /v1/jobs/active"),
    done(
        "jobs.cancel",
        "API 3",
        "PATCH /v1/jobs/{id}/cancel ends the run and answers the job; one that has ended stays as it is.",
        "PATCH /v1/jobs/{job_id}/cancel",
    ),
    done(
        "jobs.delete",
        "API 3",
        "DELETE /v1/jobs/{id} takes away a job that is over and answers it as it was; 409 while it goes on.",
        "DELETE /v1/jobs/{job_id}",
    ),
)
