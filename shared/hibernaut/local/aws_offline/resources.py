"""How each type of resource is created in moto, and which types are not created, with the reason.

Knows: moto's services through boto3. Must not know: the resources of the stack.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import field
from functools import cache
from typing import Any

from hibernaut.local.aws_offline.place import ACCOUNT, REGION
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable

NOT_LOADED = {
    "AWS::ApiGateway::Account": "the front has no logs of its own",
    "AWS::ApiGateway::Deployment": "the front reads methods from the template",
    "AWS::CloudWatch::Alarm": "nobody measures",
    "AWS::IAM::Policy": "moto asks no permission; a test compares what handlers call with what their roles allow",
    "AWS::KMS::Alias": "functions name the key itself",
    "AWS::Lambda::EventInvokeConfig": "no invocation is repeated",
    "AWS::Lambda::LayerVersion": "handlers run in this process, with its packages",
    "AWS::Lambda::Permission": "moto asks no permission",
    "AWS::S3::BucketPolicy": "moto asks no permission",
    "AWS::SQS::QueuePolicy": "moto asks no permission",
}


@immutable
class Resource:
    """A created resource: the values of Ref and GetAtt, and its properties without intrinsic functions."""

    name: str
    type: str
    properties: JsonObject
    ref: str
    attributes: dict[str, str] = field(default_factory=dict)


class UnknownResource(Exception):
    """The template has a type that is neither created here nor listed with a reason."""


@cache
def client(service: str) -> Any:
    """A cached client for each service, because creating one costs more than most calls."""
    import boto3
    from botocore.config import Config

    return boto3.session.Session(region_name=REGION).client(service, config=Config(retries={"total_max_attempts": 1}))  # type: ignore[call-overload]


def make(name: str, kind: str, properties: JsonObject, physical: str) -> Resource:
    """Create one resource; `physical` is its name if the template has none. Raises: UnknownResource."""
    if kind in NOT_LOADED:
        return Resource(name, kind, properties, physical)
    if kind not in MAKERS:
        raise UnknownResource(f"{name} is a {kind}")
    ref, attributes = MAKERS[kind](properties, physical)
    return Resource(name, kind, properties, ref, attributes)


CreatedResource = tuple[str, dict[str, str]]


def _table(properties: JsonObject, physical: str) -> CreatedResource:
    dynamodb = client("dynamodb")
    shape = ("KeySchema", "AttributeDefinitions", "BillingMode", "GlobalSecondaryIndexes")
    stream = {"StreamEnabled": True, **properties["StreamSpecification"]}
    table = dynamodb.create_table(
        TableName=physical, StreamSpecification=stream, **{key: properties[key] for key in shape if key in properties}
    )["TableDescription"]
    dynamodb.update_time_to_live(TableName=physical, TimeToLiveSpecification=properties["TimeToLiveSpecification"])
    dynamodb.update_continuous_backups(
        TableName=physical, PointInTimeRecoverySpecification=properties["PointInTimeRecoverySpecification"]
    )
    return physical, {"Arn": table["TableArn"], "StreamArn": table["LatestStreamArn"]}


def _bucket(properties: JsonObject, physical: str) -> CreatedResource:
    bucket = properties.get("BucketName") or physical.lower()
    client("s3").create_bucket(Bucket=bucket)
    client("s3").put_bucket_versioning(Bucket=bucket, VersioningConfiguration=properties["VersioningConfiguration"])
    return bucket, {"Arn": f"arn:aws:s3:::{bucket}"}


def _key(properties: JsonObject, _physical: str) -> CreatedResource:
    key = client("kms").create_key(Description=properties["Description"])["KeyMetadata"]
    return key["KeyId"], {"Arn": key["Arn"]}


def _queue(properties: JsonObject, physical: str) -> CreatedResource:
    name = properties.get("QueueName") or physical
    url = client("sqs").create_queue(QueueName=name)["QueueUrl"]
    return url, {"Arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}", "QueueName": name}


def _log_group(properties: JsonObject, physical: str) -> CreatedResource:
    name = properties.get("LogGroupName") or physical
    logs = client("logs")
    logs.create_log_group(logGroupName=name)
    logs.put_retention_policy(logGroupName=name, retentionInDays=properties["RetentionInDays"])
    return name, {"Arn": f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{name}:*"}


def _role(properties: JsonObject, physical: str) -> CreatedResource:
    trust = json.dumps(properties["AssumeRolePolicyDocument"])
    role = client("iam").create_role(RoleName=physical[:64], AssumeRolePolicyDocument=trust)["Role"]
    return role["RoleName"], {"Arn": role["Arn"]}


def _function(properties: JsonObject, physical: str) -> CreatedResource:
    function = client("lambda").create_function(
        FunctionName=properties.get("FunctionName") or physical[:64],
        Runtime=properties["Runtime"],
        Handler=properties["Handler"],
        Role=properties["Role"],
        Code={"ZipFile": _empty_zip()},
        Timeout=properties["Timeout"],
        MemorySize=properties["MemorySize"],
        Environment=properties.get("Environment", {}),
    )
    return function["FunctionName"], {"Arn": function["FunctionArn"]}


def _state_machine(properties: JsonObject, physical: str) -> CreatedResource:
    definition = properties["DefinitionString"]
    for name, value in properties.get("DefinitionSubstitutions", {}).items():
        definition = definition.replace(f"${{{name}}}", value)
    name = properties.get("StateMachineName") or physical
    arn = client("stepfunctions").create_state_machine(
        name=name, definition=definition, roleArn=properties["RoleArn"], type=properties["StateMachineType"]
    )["stateMachineArn"]
    return arn, {"Arn": arn, "Name": name}


def _schedule(properties: JsonObject, physical: str) -> CreatedResource:
    name = properties.get("Name") or physical
    fields = ("ScheduleExpression", "FlexibleTimeWindow", "Target")
    arn = client("scheduler").create_schedule(Name=name, **{key: properties[key] for key in fields})["ScheduleArn"]
    return name, {"Arn": arn}


def _schedule_group(properties: JsonObject, _physical: str) -> CreatedResource:
    name = properties["Name"]
    return name, {"Arn": client("scheduler").create_schedule_group(Name=name)["ScheduleGroupArn"]}


def _rule(properties: JsonObject, physical: str) -> CreatedResource:
    """Not created in moto, whose event bus gets no events of executions; `rules` reads the rule from the template."""
    name = properties.get("Name") or physical
    return name, {"Arn": f"arn:aws:events:{REGION}:{ACCOUNT}:rule/{name}"}


def _mapping(properties: JsonObject, physical: str) -> CreatedResource:
    """Not created in moto, which would invoke the function within each write; `feeds` reads the mapping from the template."""
    return f"{physical}-of-{properties['FunctionName']}", {}


def _domain(properties: JsonObject, physical: str) -> CreatedResource:
    """Not reachable in moto: the functions get the address of another index (`offline`)."""
    return properties.get("DomainName") or physical, {"DomainEndpoint": "search.invalid"}


def _of_the_front(properties: JsonObject, physical: str) -> CreatedResource:
    """Parts of the gateway, which `gateway` reads from the template itself."""
    return properties.get("StageName") or physical, {"RootResourceId": f"{physical}-root"}


def _empty_zip() -> bytes:
    data = io.BytesIO()
    zipfile.ZipFile(data, "w").close()
    return data.getvalue()


def _of_the_sockets(properties: JsonObject, physical: str) -> CreatedResource:
    """Parts of the WebSocket API, which `socket_gateway` reads from the template itself. An API's id is a part of host names."""
    return properties.get("StageName") or physical.lower(), {}


MAKERS: dict[str, Callable[[JsonObject, str], CreatedResource]] = {
    "AWS::ApiGateway::GatewayResponse": _of_the_front,
    "AWS::ApiGateway::Method": _of_the_front,
    "AWS::ApiGateway::Resource": _of_the_front,
    "AWS::ApiGateway::RestApi": _of_the_front,
    "AWS::ApiGateway::Stage": _of_the_front,
    "AWS::ApiGatewayV2::Api": _of_the_sockets,
    "AWS::ApiGatewayV2::Integration": _of_the_sockets,
    "AWS::ApiGatewayV2::Route": _of_the_sockets,
    "AWS::ApiGatewayV2::Stage": _of_the_sockets,
    "AWS::DynamoDB::Table": _table,
    "AWS::Events::Rule": _rule,
    "AWS::IAM::Role": _role,
    "AWS::KMS::Key": _key,
    "AWS::Lambda::EventSourceMapping": _mapping,
    "AWS::Lambda::Function": _function,
    "AWS::Logs::LogGroup": _log_group,
    "AWS::OpenSearchService::Domain": _domain,
    "AWS::S3::Bucket": _bucket,
    "AWS::SQS::Queue": _queue,
    "AWS::Scheduler::Schedule": _schedule,
    "AWS::Scheduler::ScheduleGroup": _schedule_group,
    "AWS::StepFunctions::StateMachine": _state_machine,
}
