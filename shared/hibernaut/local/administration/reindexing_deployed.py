"""`hibernaut reindex --env`: has the function of a deployed stack rebuild its index, and shows the progress.

Knows: Lambda's Invoke, the stack's outputs, and the reply of `index_memory`. Must not know: how an index is built. boto3 is
imported on use, because the local set of dependencies does not contain it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, Protocol, TextIO, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.local.administration.stack_outputs import outputs_of, reason_of
from hibernaut.local.profiles import CannotServe
from hibernaut.local.progress import Dwindling, ProgressReport, report_to
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable

LOOK = 3.0
"""Seconds between two polls of the function: each is an invocation."""
LONGEST = 910
"""The read time-out in seconds: longer than the function's own time limit."""
OUTPUT = "IndexFunction"
NO_BOTO3 = "reindexing a deployed stack needs boto3, which is not installed here: pip install boto3 (make dev in a checkout)"
STILL = "Nothing was indexed for a minute: what stands in the way is in the log of {function}. Still waiting."


class Lambda(Protocol):
    """The used part of boto3's client."""

    def invoke(self, **request: Any) -> Any: ...


@immutable
class Deployed:
    """The function that feeds the index, identified by its name or by the environment of its stack."""

    function: str | None = None
    env: str | None = None


def reindex(deployed: Deployed, out: TextIO) -> int:
    """Rebuild the index, report to `out`, and return when it is complete. Returns the number of records.

    Raises: CannotServe, also after an interrupt.
    """
    try:
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise CannotServe(NO_BOTO3) from error
    report = report_to(out)
    try:
        function = deployed.function or _function_of(f"hibernaut-{deployed.env}")
        return build_anew(function, patient_lambda(), report)
    except BotoCoreError as error:
        raise CannotServe(f"AWS cannot be called: {error}") from error
    except KeyboardInterrupt as interrupt:
        raise CannotServe("stopped watching; the function continues") from interrupt
    finally:
        report.end()


def build_anew(function: str, client: Lambda, report: ProgressReport, wait: Callable[[float], object] | None = None) -> int:
    """Empty the index, and report how it fills. A second call during a rebuild starts again. Returns the number of records.

    Raises: CannotServe, and any error of botocore.
    """
    wait = wait or threading.Event().wait
    report.line(f"Reindexing by {function}; searches remain available.")
    records = int(_invoke(client, function, {"reindex": "all"})["records"])
    report.line(f"The index is empty and waits for {records:,} records.")
    dwindling = Dwindling(report, STILL.format(function=function))
    while True:
        wait(LOOK)
        standing = _invoke(client, function, {"reindexed": "all"})
        if standing["whole"]:
            report.line("Done: the index is complete.")
            return records
        dwindling.remaining(int(standing["left"]))


def _invoke(client: Lambda, function: str, event: JsonObject) -> JsonObject:
    from botocore.exceptions import ClientError

    try:
        reply = client.invoke(FunctionName=function, Payload=json.dumps(event).encode())
        answer: JsonObject = json.loads(reply["Payload"].read())
    except ClientError as error:
        raise CannotServe(f"{function} cannot be invoked: {reason_of(error.response)}") from error
    if "FunctionError" in reply:
        raise CannotServe(
            f"{function} failed: {answer.get('errorType', 'Error')}: {answer.get('errorMessage', '')}; run the command again when this is fixed"
        )
    return answer


def _function_of(stack: str) -> str:
    """The function's name from the stack's outputs. Raises: CannotServe."""
    name = outputs_of(stack).get(OUTPUT)
    if name is None:
        raise CannotServe(f"the stack {stack} has no index of memory; deploy it with -c search=domain")
    return name


def patient_lambda() -> Lambda:
    """A client without retries: a retry would start the rebuild again."""
    from botocore.config import Config

    config = Config(read_timeout=LONGEST, retries={"total_max_attempts": 1}, tcp_keepalive=True)
    return cast("Lambda", aws_client("lambda", config))
