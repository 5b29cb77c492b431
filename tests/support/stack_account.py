"""An operator's view of the offline stack: CloudFormation as it would describe the stack, and which permissions a command
uses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from hibernaut.local.administration.deployment import DeployedResources
from hibernaut.local.aws_offline.lambdas import current_function
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.base import JsonObject
from infra.artifacts import ROOT

ACTIONS = {
    "s3:ListObjectVersions": "s3:ListBucketVersions",
    "s3:GetBucketVersioning": "s3:GetBucketVersioning",
    "lambda:Invoke": "lambda:InvokeFunction",
    "cloudwatch:GetMetricStatistics": "cloudwatch:GetMetricStatistics",
    "s3:ListObjectsV2": "s3:ListBucket",
}
"""The permission of an operation, where it is not that of the operation's name (service authorization reference)."""
SERVICES = {"sfn": "states", "opensearchserverless": "aoss", "opensearch": "es"}


class OfflineCloudFormation:
    """The used part of CloudFormation. `status` and `outputs` are what it says of the stack."""

    def __init__(self, aws: OfflineAws, name: str) -> None:
        self._name = name
        self.status = "UPDATE_COMPLETE"
        self.date: str | None = None
        self.outputs = dict(aws.stack.outputs)
        self.listed = [
            {"LogicalResourceId": one.name, "ResourceType": one.type, "PhysicalResourceId": one.ref} for one in aws.stack.all()
        ]
        self.asked: set[str] = set()

    def describe_stacks(self, StackName: str) -> JsonObject:  # noqa: N803  AWS's name
        self.asked.add("cloudformation:DescribeStacks")
        if StackName != self._name:
            error = {"Error": {"Code": "ValidationError", "Message": f"Stack with id {StackName} does not exist"}}
            raise ClientError(error, "DescribeStacks")  # type: ignore[arg-type]
        now = datetime.now(UTC)
        found = {"StackStatus": self.status, "CreationTime": now}
        outputs = [{"OutputKey": name, "OutputValue": value} for name, value in self.outputs.items()]
        date = self.date or format_datetime(now, usegmt=True)
        return {"Stacks": [{**found, "Outputs": outputs}], "ResponseMetadata": {"HTTPHeaders": {"date": date}}}

    def get_paginator(self, operation: str) -> OfflineCloudFormation:
        assert operation == "list_stack_resources"
        return self

    def paginate(self, StackName: str) -> Iterator[JsonObject]:  # noqa: N803  AWS's name
        assert StackName == self._name
        self.asked.add("cloudformation:ListStackResources")
        half = len(self.listed) // 2
        yield {"StackResourceSummaries": self.listed[:half]}
        yield {"StackResourceSummaries": self.listed[half:]}


def deployed(aws: OfflineAws, env: str = "dev", **clients: Any) -> DeployedResources:
    """The stack for an operator's command. `clients`: doubles of services that moto does not have."""
    return DeployedResources(env, {"cloudformation": OfflineCloudFormation(aws, f"hibernaut-{env}"), **clients})


@contextmanager
def asked_of_aws() -> Iterator[set[str]]:
    """The permissions that the calls in the context need."""
    asked: set[str] = set()
    original = BaseClient._make_api_call

    def noted(client: Any, operation: str, arguments: JsonObject) -> Any:
        service = client.meta.service_model.service_id.hyphenize()
        if current_function() is None:  # Functions have roles of their own.
            asked.update(_permissions(SERVICES.get(service, service), operation, arguments))
        return original(client, operation, arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", noted)
        yield asked


def _permissions(service: str, operation: str, arguments: JsonObject) -> Iterator[str]:
    if operation == "TransactWriteItems":
        verbs = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}
        yield from (f"dynamodb:{verbs[verb]}" for item in arguments["TransactItems"] for verb in item)
        return
    versioned = "VersionId" in json.dumps(arguments, default=str)
    match service, operation:
        case "s3", "DeleteObject" | "GetObject" | "HeadObject":
            name = operation.replace("Head", "Get")
            yield f"s3:{name}Version" if versioned else f"s3:{name}"
        case "s3", "CopyObject":
            yield from ("s3:GetObjectVersion" if versioned else "s3:GetObject", "s3:PutObject")
        case _:
            action = f"{service}:{operation}"
            yield ACTIONS.get(action, action)


def permitted(command: str) -> set[str]:
    """The permissions that `docs/operations.md` names for a command."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{command}` |"))
    return set(re.findall(r"`([a-z0-9]+:[A-Za-z0-9]+)`", row.split("|")[2]))
