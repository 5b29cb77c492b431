"""Jobs (API 3 and 4.8, RT 13.6)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    diverging(
        "jobs.retrieve",
        "RT 13.6",
        "Returns a run as a job of type `run`.",
        "V1 has jobs for file uploads and batches only; clients that predate runs poll jobs.",
        "GET /v1/jobs/{job_id}",
    ),
    diverging(
        "jobs.ids",
        "API 1.3",
        "A job has the id of its run; `job-` with the same uuid is accepted. Another form is 400, an unknown id 404.",
        "V1 gives jobs their own ids. Here the id is also valid for `/v1/runs`.",
    ),
    done(
        "jobs.list",
        "API 3",
        "Lists jobs, newest first; cursors follow the order; `active` selects open ones.",
        "GET /v1/jobs/",
    ),
    done("jobs.active", "API 3", "Lists open jobs.", "GET /v1/jobs/active"),
    done(
        "jobs.cancel",
        "API 3",
        "Cancels the run and returns the job; an ended job does not change.",
        "PATCH /v1/jobs/{job_id}/cancel",
    ),
    done(
        "jobs.delete",
        "API 3",
        "Deletes an ended job and returns it; an open job is 409.",
        "DELETE /v1/jobs/{job_id}",
    ),
)
