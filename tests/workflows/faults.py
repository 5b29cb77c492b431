"""The names by which Step Functions tells that a function's invocation failed, and where each comes from."""

from __future__ import annotations

import functools

STEP_FAILED = "StepFailed"
"""What our own handlers raise for a step's own fault (`functions.events`)."""
DEATHS = ("Runtime.ExitError", "Sandbox.Timedout", "Lambda.Unknown")
"""A worker died at its step: its process ended, its time was over, or (Step Functions' word for what Lambda did not report)
either. Step Functions developer guide, "Handle transient Lambda service exceptions"; Lambda developer guide, "Troubleshoot
invocation".
"""
CLIENT = (
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
)
"""Of the client by which Step Functions invokes; the same page of its guide. `Lambda.ServiceException` is among the API's."""
STATES = ("States.Timeout", "States.HeartbeatTimeout", "States.Permissions", "States.TaskFailed")
"""Of Step Functions itself: its guide, "Handling errors in Step Functions workflows". `States.Runtime` and
`States.DataLimitExceeded` end an execution whatever it catches; none of our states can come by them."""
RUNTIME = (
    "Runtime.ImportModuleError",
    "Runtime.HandlerNotFound",
    "Runtime.UserCodeSyntaxError",
    "Runtime.InvalidEntrypoint",
    "Extension.Crash",
    "Function.ResponseSizeTooLarge",
)
"""Of Lambda's runtime before or behind a handler: what is deployed cannot run. Lambda developer guide, "Troubleshoot
invocation".
"""


@functools.cache
def of_the_api() -> tuple[str, ...]:
    """What Lambda's API names among the errors of `Invoke`, as botocore's copy of its model lists them; Step Functions puts
    `Lambda.` before them ("Lambda errors are reported as Lambda.ErrorName", the same page of its guide)."""
    import botocore.session

    invoke = botocore.session.get_session().get_service_model("lambda").operation_model("Invoke")
    return tuple(sorted(f"Lambda.{shape.name}" for shape in invoke.error_shapes))


def platform() -> tuple[str, ...]:
    """Every name that is no fault of the step's, and one that nobody has heard of."""
    return (*of_the_api(), *CLIENT, *STATES, *RUNTIME, "Retryable", "KeyError", "Lambda.OfNextYearException")
