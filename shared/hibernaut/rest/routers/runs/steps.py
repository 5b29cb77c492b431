"""Steps: their metrics, traces, messages and feedback (Letta V1 API, API 2.15)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.http.json_responses import filtered, plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.queries import PartListQuery, StepListQuery
from hibernaut.schemas.ids import StepId
from hibernaut.schemas.messages.letta_message import LettaMessage
from hibernaut.schemas.runs.step import ModifyFeedback, Step, StepMetrics
from hibernaut.schemas.runs.trace import ProviderTrace

router = APIRouter(prefix="/v1/steps", tags=["steps"], route_class=LazyRoute)
telemetry = APIRouter(prefix="/v1/telemetry", tags=["steps"], route_class=LazyRoute)


@router.get("", response_model=list[Step])
def list_steps(services: TheServices, query: StepListQuery) -> Response:
    """A page of the steps of all runs."""
    return filtered(services.steps.page(query.query()))


@router.get("/{step_id}", response_model=Step)
def retrieve_step(services: TheServices, step_id: StepId) -> Response:
    """One step."""
    return reply(services.steps.get(step_id))


@router.get("/{step_id}/metrics", response_model=StepMetrics)
def retrieve_step_metrics(services: TheServices, step_id: StepId) -> Response:
    """The step's times in nanoseconds."""
    return reply(services.steps.metrics(step_id))


@telemetry.get("/{step_id}", response_model=ProviderTrace | None, deprecated=True)
@router.get("/{step_id}/trace", response_model=ProviderTrace | None)
def retrieve_step_trace(services: TheServices, step_id: StepId) -> Response:
    """The bodies that the step sent to its provider and received. Null if traces are off or the trace has expired."""
    found = services.steps.trace(step_id)
    return plain(None) if found is None else reply(found)


@router.get("/{step_id}/messages", response_model=list[LettaMessage])
def list_step_messages(services: TheServices, step_id: StepId, query: PartListQuery) -> Response:
    """The messages that the step added to the log."""
    return replies(services.steps.messages(step_id, query.query()))


@router.patch("/{step_id}/feedback", response_model=Step)
def modify_step_feedback(services: TheServices, step_id: StepId, body: ModifyFeedback) -> Response:
    """Set the feedback of a step: `positive` or `negative`. Null removes it."""
    return reply(services.steps.change_feedback(step_id, body))
