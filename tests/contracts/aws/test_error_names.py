"""Each name of an error that AWS documents for a call of the functions, injected once: only errors of the port come out.

The names are those of botocore's service models, which AWS publishes, and those that every service may answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.adapters.cipher.envelope import Envelope
from hibernaut.adapters.cipher.kms import KmsCipher
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.ingest.lambda_function import LambdaIngest
from hibernaut.adapters.schedules.event_bridge import EventBridgeScheduler
from hibernaut.adapters.secrets.ssm import SsmSecrets
from hibernaut.adapters.sockets.api_gateway import GatewayConnections
from hibernaut.adapters.sockets.lambda_worker import LambdaWorkers
from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.adapters.tool_runner.lambda_function import LambdaRunner
from hibernaut.adapters.workflow.step_functions import StepFunctions
from hibernaut.ports.events.sockets import ConnectionGone, NotPosted
from hibernaut.ports.runs.schedules import Alarm
from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.ports.storage.table import Delete, Key, Put, TableError, Update
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.errors import MasterKeyUnavailable, SecretsUnavailable, ServerBusy, Unavailable

COMMON = (
    *("AccessDeniedException", "ExpiredTokenException", "IncompleteSignature", "InternalFailure", "InvalidClientTokenId"),
    *("NotAuthorized", "OptInRequired", "RequestExpired", "RequestTimeout", "ServiceUnavailable", "ThrottlingException"),
    *("UnrecognizedClientException", "ValidationError"),
)
"""The common errors of the API references (docs.aws.amazon.com/amazondynamodb/latest/APIReference/CommonErrors.html)."""
OF_S3 = (
    "AccessDenied",
    "InternalError",
    "InvalidAccessKeyId",
    "NoSuchBucket",
    "OperationAborted",
    "RequestTimeTooSkewed",
    "SlowDown",
)
"""docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html: S3's model names few of its errors."""
UNNAMED = "AnErrorOfTomorrow"
RUN, KEY = RunRef("default", "run-1"), Key("p", "s")
ALARM = Alarm("schedule-00000000-0000-4000-8000-000000000001", at_ms=1_800_000_000_000)
JOB = ToolJob("knock", "", {})
SEALED = bytes(Envelope.sealed(b"x", data_key=b"0" * 32, wrapped_key=b"w", context={"a": "b"}))


class Call(NamedTuple):
    """A call of an adapter to an operation of AWS; `raises`: the errors that its port promises."""

    service: str
    operation: str
    make: Callable[[Any], object]
    raises: tuple[type[Exception], ...] = ()


def cipher(client: Any) -> KmsCipher:
    return KmsCipher("key", deployment="dev", clock=SystemClock(), client=client)


def table(client: Any) -> DynamoDbTable:
    return DynamoDbTable("table", client=client)


def scheduler(client: Any) -> EventBridgeScheduler:
    return EventBridgeScheduler(
        "group", "arn:aws:lambda:eu-central-1:123456789012:function:f", "arn:aws:iam::123456789012:role/r", most=1, client=client
    )


def create_alarm(client: Any) -> None:
    scheduler(SimpleNamespace(create_schedule=client.create_schedule, update_schedule=lambda **_: None)).put("default", ALARM)


def update_alarm(client: Any) -> None:
    """The schedule exists."""

    def create(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "ConflictException"}}, "CreateSchedule")

    scheduler(SimpleNamespace(create_schedule=create, update_schedule=client.update_schedule)).put("default", ALARM)


TABLE = (TableError, ValueError)
CALLS = (
    Call("s3", "PutObject", lambda client: S3Blobs("b", client=client).put("k", b""), (OSError,)),
    Call("s3", "GetObject", lambda client: S3Blobs("b", client=client).get("k"), (OSError, KeyError)),
    Call("s3", "DeleteObject", lambda client: S3Blobs("b", client=client).delete("k"), (OSError,)),
    Call("s3", "ListObjectsV2", lambda client: S3Blobs("b", client=client).list(limit=1), (OSError,)),
    Call("stepfunctions", "StartExecution", lambda client: StepFunctions("m", client=client).start(RUN)),
    Call("stepfunctions", "StopExecution", lambda client: StepFunctions("m", client=client).stop(RUN)),
    Call("stepfunctions", "SendTaskSuccess", lambda client: StepFunctions("m", client=client).end_wait(RUN, "token")),
    Call("lambda", "Invoke", lambda client: LambdaRunner("f", client).run(JOB), (OSError,)),
    Call("lambda", "Invoke", lambda client: LambdaIngest("f", client).start("default", "file-1")),
    Call("lambda", "Invoke", lambda client: LambdaWorkers("f", client).start({}), (ServerBusy,)),
    Call(
        "apigatewaymanagementapi",
        "PostToConnection",
        lambda client: GatewayConnections("", client).post("c", ""),
        (ConnectionGone, NotPosted),
    ),
    Call("apigatewaymanagementapi", "DeleteConnection", lambda client: GatewayConnections("", client).close("c"), (NotPosted,)),
    Call("scheduler", "CreateSchedule", create_alarm),
    Call("scheduler", "UpdateSchedule", update_alarm),
    Call("scheduler", "DeleteSchedule", lambda client: scheduler(client).delete("default", ALARM.schedule_id)),
    Call("scheduler", "ListSchedules", lambda client: scheduler(client).list(), (Unavailable,)),
    Call("kms", "GenerateDataKey", lambda client: cipher(client).seal(b"x", {"a": "b"}), (MasterKeyUnavailable, SealBroken)),
    Call("kms", "Decrypt", lambda client: cipher(client).unseal(SEALED, {"a": "b"}), (MasterKeyUnavailable, SealBroken)),
    Call(
        "ssm",
        "GetParametersByPath",
        lambda client: SsmSecrets("/p", clock=SystemClock(), client=client).get("K"),
        (SecretsUnavailable,),
    ),
    Call("dynamodb", "GetItem", lambda client: table(client).get(KEY), TABLE),
    Call("dynamodb", "BatchGetItem", lambda client: table(client).get_many([KEY]), TABLE),
    Call("dynamodb", "Query", lambda client: table(client).query("p"), TABLE),
    Call("dynamodb", "PutItem", lambda client: table(client).write(Put({"pk": "p", "sk": "s"})), TABLE),
    Call("dynamodb", "UpdateItem", lambda client: table(client).write(Update(KEY, set={"a": 1})), TABLE),
    Call("dynamodb", "DeleteItem", lambda client: table(client).write(Delete(KEY)), TABLE),
    Call("dynamodb", "TransactWriteItems", lambda client: table(client).write(Delete(KEY), Delete(Key("p", "t"))), TABLE),
)


def client_of(service: str) -> Any:
    return aws_client(service, Config(retries={"total_max_attempts": 1}), region="eu-central-1")


def names_of(call: Call, client: Any) -> Iterator[str]:
    """The names that the model and the references have for the operation."""
    for shape in client.meta.service_model.operation_model(call.operation).error_shapes:
        yield shape.metadata.get("error", {}).get("code", shape.name)
    yield from COMMON
    yield from OF_S3 if call.service == "s3" else ()
    yield UNNAMED


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.service} {call.operation}")
def test_every_documented_error_of_a_call_becomes_one_of_the_port(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    client = client_of(call.service)
    method = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in call.operation).lstrip("_")
    names = sorted(set(names_of(call, client)))
    for name in names:
        with Stubber(client) as stub:
            stub.add_client_error(method, name, f"injected {name}", 400)
            try:
                made = call.make(client)
            except call.raises:
                pass
            else:
                assert made is None or isinstance(made, ToolOutcome), name
            stub.assert_no_pending_responses()
    assert len(names) > len(COMMON) + 1 or call.service in ("ssm", "s3")


def test_the_calls_are_those_that_the_functions_roles_allow() -> None:
    """A permission of a role without a call here would be an error that nobody has injected."""
    from hibernaut.local.aws_offline.template import checkout, template_of
    from tests.infra.reading import Template, listed

    template = Template(template_of(checkout()))
    prefixes = {"states": "stepfunctions"}
    allowed = {
        (prefixes.get(service, service), action)
        for role in {template.role_of(function) for function in template.functions()}
        for statement in template.statements(role)
        if statement["Effect"] == "Allow"
        for service, _, action in (name.partition(":") for name in listed(statement["Action"]))
    }
    # Lambda, not our code, reads the stream, sends dead letters, writes logs and traces. The index and models have kits of their
    # own.
    by_others = {"xray", "logs", "sqs", "es", "bedrock"}
    named = {("lambda", "InvokeFunction"): ("lambda", "Invoke"), ("s3", "ListBucket"): ("s3", "ListObjectsV2")}
    asked = {named.get(pair, pair) for pair in allowed if pair[0] not in by_others}
    asked = {
        (service, action)
        for service, action in asked
        if "Stream" not in action and action not in ("GetRecords", "GetShardIterator")
    }
    managed = {("apigatewaymanagementapi", operation) for operation in ("PostToConnection", "DeleteConnection")}
    asked = (asked - {("execute-api", "ManageConnections")}) | managed
    ours = {(call.service, call.operation) for call in CALLS}
    parts = {("dynamodb", "ConditionCheckItem"), ("iam", "PassRole")}
    assert asked - ours == parts, "ConditionCheckItem is a part of TransactWriteItems, PassRole of CreateSchedule"
    assert ours - asked == {("dynamodb", "TransactWriteItems")}
