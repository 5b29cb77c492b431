"""Runs: their messages, steps, usage, metrics and traces (Letta V1 API, API 2.15 and 3)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.http.json_responses import filtered, plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.queries import ApprovalListQuery, PartListQuery, RunListQuery, RunStepListQuery, RunTraceQuery
from hibernaut.schemas.messages.letta_message import LettaMessage
from hibernaut.schemas.runs.approval import RunApproval
from hibernaut.schemas.runs.run import Run, RunMetrics
from hibernaut.schemas.runs.step import Step
from hibernaut.schemas.runs.trace import Span
from hibernaut.schemas.usage import RunUsage

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=LazyRoute)


@router.get("", response_model=list[Run])
def list_runs(services: TheServices, query: RunListQuery) -> Response:
    """A page of runs. Cursors follow the requested order."""
    return filtered(services.runs.page(query.query()))


@router.get("/active", response_model=list[Run], deprecated=True)
def list_active_runs(services: TheServices, query: RunListQuery) -> Response:
    """The runs that have not ended."""
    return filtered(services.runs.page(query.model_copy(update={"active": True}).query()))


@router.get("/approvals", response_model=list[RunApproval])
def list_waiting_approvals(services: TheServices, query: ApprovalListQuery) -> Response:
    """A page of the calls that wait for answers, in all conversations, by the runs that asked; of one agent or of all. An
    extension.
    """
    return filtered(services.runs.waiting(query.page(), query.agent_id))


@router.get("/{run_id}", response_model=Run)
def retrieve_run(services: TheServices, run_id: str) -> Response:
    """One run."""
    return reply(services.runs.get(run_id))


@router.get("/{run_id}/messages", response_model=list[LettaMessage])
def list_run_messages(services: TheServices, run_id: str, query: PartListQuery) -> Response:
    """The messages of the run, its input included."""
    return replies(services.runs.messages(run_id, query.query()))


@router.get("/{run_id}/approval", response_model=RunApproval)
def retrieve_run_approval(services: TheServices, run_id: str) -> Response:
    """The run's approval request: its calls, its deadline, and its answer, if any. 404 if the run has requested no approval."""
    return reply(services.runs.approval(run_id))


@router.get("/{run_id}/steps", response_model=list[Step])
def list_run_steps(services: TheServices, run_id: str, query: RunStepListQuery) -> Response:
    """The steps of the run."""
    return replies(services.runs.steps(run_id, query.page()))


@router.get("/{run_id}/usage", response_model=RunUsage)
def retrieve_run_usage(services: TheServices, run_id: str) -> Response:
    """The tokens and the cost of the run's steps and summaries."""
    return reply(services.runs.usage(run_id))


@router.get("/{run_id}/metrics", response_model=RunMetrics)
def retrieve_run_metrics(services: TheServices, run_id: str) -> Response:
    """The run's times, its number of steps, and the tools that it used."""
    return reply(services.runs.metrics(run_id))


@router.get("/{run_id}/trace", response_model=list[Span])
def retrieve_run_trace(services: TheServices, run_id: str, query: RunTraceQuery) -> Response:
    """The run, its steps, model calls and tool calls as spans, with their durations."""
    return replies(services.runs.trace(run_id, query.limit))


@router.delete("/{run_id}")
def delete_run(services: TheServices, run_id: str) -> Response:
    """Delete a run that has ended, with its steps and events. Its messages remain in the log."""
    services.runs.delete(run_id)
    return plain(None)
