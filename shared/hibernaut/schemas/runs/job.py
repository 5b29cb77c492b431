"""A job: the form in which older clients see background work (Letta V1 API, API 4.8; RT 13.6)."""

from enum import StrEnum
from typing import Literal

from hibernaut.schemas.base import JsonObject, Moment, Schema
from hibernaut.schemas.runs.run import Run
from hibernaut.schemas.stop import StopReason


class JobStatus(StrEnum):
    """The states of a job."""

    CREATED = "created"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    PENDING = "pending"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Job(Schema):
    """The wire form. Durations are in nanoseconds. A job of type `run` is a run and has its id."""

    id: str
    status: JobStatus = JobStatus.CREATED
    job_type: Literal["job", "run", "batch"] = "job"
    created_at: Moment
    updated_at: Moment | None = None
    completed_at: Moment | None = None
    stop_reason: StopReason | None = None
    metadata: JsonObject | None = None
    background: bool | None = None
    agent_id: str | None = None
    user_id: str | None = None
    created_by_id: str | None = None
    last_updated_by_id: str | None = None
    callback_url: str | None = None
    callback_sent_at: Moment | None = None
    callback_status_code: int | None = None
    callback_error: str | None = None
    ttft_ns: int | None = None
    total_duration_ns: int | None = None


def job_of(run: Run) -> Job:
    """The job form of a run."""
    same = {name: getattr(run, name) for name in Job.model_fields if name in Run.model_fields and name != "status"}
    return Job(job_type="run", status=JobStatus(run.status.value), **same)
