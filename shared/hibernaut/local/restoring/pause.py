"""Keeps a stack still while its records are exchanged: no function runs, and no execution."""

from __future__ import annotations

import json

from hibernaut.local.administration.deployment import DeployedResources
from hibernaut.local.profiles import CannotServe
from hibernaut.local.progress import ProgressReport

CAGED = ("run_tool", "run_node")
"""They know neither table nor bucket."""


def reservations(place: DeployedResources) -> str:
    """The reserved concurrency of each function (None: unreserved) as JSON, to be put back later."""
    found = {
        folder: place.client("lambda").get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions")
        for folder, name in place.functions.items()
        if folder not in CAGED
    }
    return json.dumps(found, sort_keys=True)


def pause(place: DeployedResources, report: ProgressReport) -> None:
    """Refuse every invocation, and stop all executions. Their runs are continued by the sweep."""
    for folder, name in place.functions.items():
        if folder not in CAGED:
            place.client("lambda").put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    client, machine, count = place.client("stepfunctions"), place.output("StateMachineArn"), 0
    for page in client.get_paginator("list_executions").paginate(stateMachineArn=machine, statusFilter="RUNNING"):
        for one in page["executions"]:
            client.stop_execution(
                executionArn=one["executionArn"], error="Restore", cause="hibernaut restore exchanges the records"
            )
            count += 1
    report.line(f"{place.stack} is paused: its functions refuse every request, {count:,} executions were stopped.")


def resume(place: DeployedResources, reserved: str, report: ProgressReport) -> None:
    """Put the reserved concurrency of `reservations` back. Raises: CannotServe."""
    try:
        before = dict(json.loads(reserved))
    except ValueError as error:
        raise CannotServe("the state of the restore is damaged; deploy the stack again, which sets its concurrency") from error
    for folder, count in before.items():
        name = place.functions.get(folder)
        if name is None:
            continue
        if count is None:
            place.client("lambda").delete_function_concurrency(FunctionName=name)
        else:
            place.client("lambda").put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=count)
    report.line(f"{place.stack} runs again.")
