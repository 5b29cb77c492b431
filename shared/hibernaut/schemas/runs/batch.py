"""A batch of messages: requests to many agents that are accepted together (Letta V1 API, API 3; RT 13.6). V1's
clients see it as a job of the type `batch`.
"""

from typing import Annotated

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Moment, Schema
from hibernaut.schemas.ids import AgentId
from hibernaut.schemas.limits import Url
from hibernaut.schemas.runs.callback_address import shown_callback
from hibernaut.schemas.runs.job import Job, JobStatus
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.schemas.stored import Stored

MOST_REQUESTS = 100
"""The largest number of requests of one batch."""
OPEN = frozenset({JobStatus.CREATED, JobStatus.RUNNING})


class BatchRequest(LettaRequest):
    """One request of a batch: the body of a message, and the agent that it is for."""

    agent_id: AgentId


class CreateBatch(Schema):
    """The body of POST /v1/messages/batches."""

    requests: Annotated[list[BatchRequest], Field(min_length=1, max_length=MOST_REQUESTS)]
    callback_url: Url | None = None


class BatchMessages(Schema):
    """The body of GET /v1/messages/batches/{id}/messages: rows of logs."""

    messages: list[JsonObject]


class BatchItem(Schema):
    """A request of a batch. `body`: the request until it is accepted. `run_id`: the run that accepted it; `refusal`: why it was
    refused.
    """

    agent_id: str
    body: JsonObject | None = None
    run_id: str | None = None
    refusal: str | None = None

    @property
    def waits(self) -> bool:
        """Whether the request is neither accepted nor refused."""
        return self.run_id is None and self.refusal is None


class StoredBatch(Stored):
    """The stored record. `status` becomes final at the first read after the end of all runs. `version` counts changes."""

    id: str
    status: JobStatus = JobStatus.RUNNING
    items: list[BatchItem]
    key_id: str | None = None
    cancelled: bool = False
    created_at: Moment
    updated_at: Moment
    completed_at: Moment | None = None
    callback_url: str | None = None
    callback_sent_at: Moment | None = None
    callback_status_code: int | None = None
    callback_error: str | None = None
    version: int = 1

    @property
    def run_ids(self) -> list[str]:
        """The runs of the accepted requests, in the order of the requests. One run may have accepted several."""
        return list(dict.fromkeys(item.run_id for item in self.items if item.run_id is not None))

    def job(self, status: JobStatus) -> Job:
        """The wire form with this status. Its `callback_url` lacks what may be secret."""
        refused = {str(place): item.refusal for place, item in enumerate(self.items) if item.refusal is not None}
        about: JsonObject = {"job_type": "batch_messages", "requests": len(self.items), "run_ids": self.run_ids}
        return Job(
            id=self.id,
            status=status,
            job_type="batch",
            created_at=self.created_at,
            updated_at=self.updated_at,
            completed_at=self.completed_at,
            metadata=about | ({"refused": refused} if refused else {}),
            background=True,
            callback_url=shown_callback(self.callback_url),
            callback_sent_at=self.callback_sent_at,
            callback_status_code=self.callback_status_code,
            callback_error=self.callback_error,
        )
