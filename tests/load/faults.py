"""Injects the faults of AWS's services into the requests of the functions, and counts what AWS would charge for them.

Knows: botocore's calls, and the invocations of `aws-offline`. Must not know: what a function does. Requests that no function
sends (those of the emulation and of the test) are left alone.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any, NamedTuple

from botocore.awsrequest import AWSResponse
from botocore.endpoint import Endpoint
from botocore.exceptions import ReadTimeoutError

from hibernaut.local.aws_offline.lambdas import Reply, current_function
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.aws_use import AwsUse
from hibernaut.schemas.base import Json


class Fault(NamedTuple):
    """A fault of a service: its share of the requests, its error code and HTTP status.

    `done`: the request is carried out, and its answer is lost.
    """

    share: float
    code: str
    status: int = 400
    done: bool = False


TIME_OUT = "ReadTimeout"
FAULTS = {
    # Amazon DynamoDB developer guide, "Error handling with DynamoDB".
    "dynamodb": (
        Fault(0.02, "ThrottlingException"),
        Fault(0.02, "ProvisionedThroughputExceededException"),
        Fault(0.01, "InternalServerError", 500),
        Fault(0.01, "ServiceUnavailable", 503),
        Fault(0.01, TIME_OUT, done=True),
    ),
    # Amazon S3 user guide, "Best practices design patterns": 503 Slow Down.
    "s3": (Fault(0.05, "SlowDown", 503), Fault(0.02, "InternalError", 500), Fault(0.02, TIME_OUT, done=True)),
    # AWS Step Functions API reference, "Common errors".
    "stepfunctions": (Fault(0.1, "ThrottlingException"), Fault(0.05, "InternalFailure", 500), Fault(0.05, TIME_OUT, done=True)),
    # AWS Systems Manager and AWS KMS API references, "Common errors".
    "ssm": (Fault(0.2, "ThrottlingException"), Fault(0.05, "InternalServerError", 500)),
    "kms": (Fault(0.1, "ThrottlingException"), Fault(0.05, "KMSInternalException", 500)),
    "lambda": (Fault(0.05, "TooManyRequestsException", 429), Fault(0.05, "ServiceException", 500)),
}
INVOCATION_FAULTS = (
    "Lambda.TooManyRequestsException",
    "Lambda.ServiceException",
    "Lambda.ResourceNotReadyException",
    "Lambda.SdkClientException",
)
"""What the state machine, the scheduler and EventBridge may meet when they call a function (AWS Step Functions developer guide,
"Handle Lambda service exceptions").
"""
INVOCATION_SHARE = 0.05
_NAMES = {"sfn": "stepfunctions", "states": "stepfunctions"}


class Injector:
    """Injects faults while `injecting`, from a seed; `counts` has them by service and code, `bill` what was used. Thread-safe.

    Each service has draws of its own: which of its requests fail does not depend on how the threads take turns.
    """

    def __init__(self, aws: OfflineAws, seed: int) -> None:
        self.injecting = False
        self.counts: Counter[str] = Counter()
        self.bill = AwsUse()
        self.last_write = time.monotonic()
        self._aws = aws
        self._draws = {name: Random(f"{seed} {name}") for name in (*FAULTS, "invocation", "answer")}
        self._lock = threading.Lock()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """See every request of a function and every invocation within the context."""
        with ExitStack() as patches:
            patches.enter_context(_replaced(Endpoint, "_get_response", self._answering(Endpoint._get_response)))
            patches.enter_context(_replaced(self._aws.lambdas, "invoke", self._invoking(self._aws.lambdas.invoke)))
            patches.enter_context(_replaced(self._aws.lambdas, "served", self._serving(self._aws.lambdas.served)))
            yield

    def loses(self, share: float) -> bool:
        """Whether this answer of the gateway is lost on its way to the client."""
        return self.injecting and self._drawn("answer") < share

    def used(self, **figures: float) -> None:
        """Add to the bill."""
        with self._lock:
            self.bill = self.bill.plus(AwsUse.model_validate(figures))

    def _answering(self, send: Callable[..., Any]) -> Callable[..., Any]:
        """botocore's attempt at a request. Below it are the wire and moto, above it are the retries of the client."""

        def answered(endpoint: Any, request: Any, model: Any, context: Any) -> Any:
            if not current_function():
                return send(endpoint, request, model, context)
            service = _NAMES.get(model.service_model.service_name, model.service_model.service_name)
            fault = self._fault(service)
            if fault is not None and not fault.done:
                return _failed(fault, request.url), None
            answer, error = send(endpoint, request, model, context)
            if answer is not None:
                self._count(service, model.name, answer[1])
            if fault is not None:
                return None, ReadTimeoutError(endpoint_url=request.url)
            return answer, error

        return answered

    def _fault(self, service: str) -> Fault | None:
        drawn = self._drawn(service) if self.injecting and service in FAULTS else 1.0
        for fault in FAULTS.get(service, ()):
            if drawn < fault.share:
                self.counts[f"{service} {fault.code}"] += 1
                return fault
            drawn -= fault.share
        return None

    def _count(self, service: str, operation: str, answer: Any) -> None:
        if service == "dynamodb":
            told = answer.get("ConsumedCapacity") or []
            reads = operation in ("GetItem", "BatchGetItem", "Query")
            self.last_write = self.last_write if reads else time.monotonic()
            units = sum(one["CapacityUnits"] for one in (told if isinstance(told, list) else [told]))
            self.used(**{"read_units" if reads else "write_units": units})
        elif service == "s3":
            self.used(**{"blob_reads" if operation == "GetObject" else "blob_writes": 1})

    def _invoking(self, invoke: Callable[..., Reply]) -> Callable[..., Reply]:
        def invoked(name: str, event: Json, **how: Any) -> Reply:
            if self.injecting and self._drawn("invocation") < INVOCATION_SHARE:
                error = INVOCATION_FAULTS[int(self._drawn("invocation") * len(INVOCATION_FAULTS))]
                self.counts[f"invocation {error}"] += 1
                return Reply({"errorType": error, "errorMessage": "injected"}, failed=True)
            began = time.monotonic()
            try:
                return invoke(name, event, **how)
            finally:
                self._ran(name, began)

        return invoked

    def _serving(self, served: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def serving(name: str, died: Callable[[], object]) -> Iterator[None]:
            began = time.monotonic()
            with served(name, died):
                yield
            self._ran(name, began)

        return serving

    def _ran(self, name: str, began: float) -> None:
        memory = self._aws.lambdas.of(name).memory / 1024
        self.used(invocations=1, gigabyte_seconds=(time.monotonic() - began) * memory)

    def _drawn(self, what: str) -> float:
        with self._lock:
            return self._draws[what].random()


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an attribute of a class or an object within the context."""
    own = name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def _failed(fault: Fault, url: str) -> tuple[AWSResponse, Any]:
    """The answer of a service that fails, as botocore has parsed it."""
    parsed = {
        "Error": {"Code": fault.code, "Message": "injected"},
        "ResponseMetadata": {"HTTPStatusCode": fault.status, "HTTPHeaders": {}},
    }
    return AWSResponse(url, fault.status, {}, None), parsed
