"""How the function that reads files is called: nobody waits for it, and nobody fails because it cannot be told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from functions.ingest_file.handler import handler
from hibernaut.adapters.ingest.lambda_function import LambdaIngest
from hibernaut.services.per_tenant import PerTenant
from tests.functions.conftest import sample
from tests.support.run_tool import LambdaContext


class Client:
    """Lambda, as far as it is asked here."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[dict[str, Any]] = []

    def invoke(self, **request: Any) -> Any:
        self.asked.append(request)
        if self.error is not None:
            raise self.error
        return {"StatusCode": 202}


class Noting:
    """Ingestion of a tenant that notes what it is to read."""

    def __init__(self, tenant: str, seen: list[tuple[str, str]]) -> None:
        self.tenant, self.seen = tenant, seen

    def process(self, file_id: str) -> None:
        self.seen.append((self.tenant, file_id))


class Context(LambdaContext):
    aws_request_id = "request"


def test_the_function_is_told_and_not_waited_for() -> None:
    client = Client()
    LambdaIngest("ingest", client).start("default", "file-1")
    (asked,) = client.asked
    assert (asked["FunctionName"], asked["InvocationType"]) == ("ingest", "Event")
    assert json.loads(asked["Payload"]) == {"tenant": "default", "file_id": "file-1"}


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke"),
        EndpointConnectionError(endpoint_url="https://lambda.invalid"),
    ],
)
def test_who_cannot_be_told_leaves_the_file_to_the_sweep(error: Exception) -> None:
    client = Client(error)
    LambdaIngest("ingest", client).start("default", "file-1")
    assert len(client.asked) == 1


@pytest.mark.parametrize("name", ["taken_by_the_api", "object_created"])
def test_either_way_of_telling_names_the_same_file(name: str) -> None:
    seen: list[tuple[str, str]] = []
    event = sample("ingest_file", name)
    reply = handler(event, Context(), PerTenant(lambda tenant: Noting(tenant, seen)))  # type: ignore[arg-type,return-value]
    assert seen == [("default", "file-0199f2c2-3d40-4000-8e6f-7a8b9cadbe00")]
    assert reply == {"tenant": "default", "file_id": seen[0][1]}
