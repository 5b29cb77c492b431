"""The KMS key of the stored data, if the settings ask for one: the stack's own, or one that they name. Without it AWS's keys
encrypt everything.

Knows: what AWS's services need in the key's policy, and what a role needs to use the key through a service.
"""

from __future__ import annotations

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.findings import Grant
from infra.settings import OWN_KEY, Settings

ID = "DataKey"
PENDING_DAYS = 7
"""Days in which the deletion of a development key can be cancelled: KMS's minimum."""
LOGS = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey", "kms:DescribeKey"]
"""What CloudWatch Logs needs (its user guide, "Encrypt log data using AWS KMS", has the patterns of these)."""
SENDING = ["kms:Decrypt", "kms:GenerateDataKey"]
"""What the writer of an object, and the sender of a message to a queue or a topic, needs (Amazon SQS developer guide, "Key
management").
"""
TABLE = [*LOGS[:4], "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:DescribeKey"]
"""What a caller of a table needs through DynamoDB (its developer guide, "DynamoDB encryption at rest: how it works", without
CreateGrant, which only the creator of the table needs).
"""


def data_key(scope: Construct, settings: Settings) -> kms.IKey | None:
    """The stack's only such key, created by the first call; None: AWS's keys."""
    if not settings.data_keys:
        return None
    stack = cdk.Stack.of(scope)
    found = stack.node.try_find_child(ID)
    if found is not None:
        return cast("kms.IKey", found)
    newest = settings.data_keys[0]
    return _own(stack, settings) if newest == OWN_KEY else kms.Key.from_key_arn(stack, ID, newest)


def use_of(scope: Construct, settings: Settings, service: str) -> list[Grant]:
    """What a role needs to use the key through a service: `dynamodb`, `s3` or `ssm`; nothing without a key."""
    key = data_key(scope, settings)
    actions = {"dynamodb": TABLE, "ssm": ["kms:Decrypt"], "s3": SENDING}[service]
    if key is None:
        return []
    stack, older = cdk.Stack.of(scope), list(settings.data_keys[1:])
    return [_through(stack, service, [key.key_arn], actions)] + (
        [_through(stack, service, older, ["kms:Decrypt"])] if older else []
    )


def use_for(queue: sqs.Queue) -> list[Grant]:
    """What a role needs to send to a queue besides the permission of the queue; nothing without a key."""
    key = queue.encryption_master_key
    return [_through(cdk.Stack.of(queue), "sqs", [key.key_arn], SENDING)] if key is not None else []


def _through(stack: cdk.Stack, service: str, keys: list[str], actions: list[str]) -> Grant:
    through = {"StringEquals": {"kms:ViaService": f"{service}.{stack.region}.{stack.url_suffix}"}}
    return Grant(iam.PolicyStatement(actions=actions, resources=keys, conditions=through))


def service_statements(stack: cdk.Stack) -> list[iam.PolicyStatement]:
    """The statements of the key's policy, in addition to the usual statement for the account's roles."""
    logs = stack.format_arn(service="logs", resource="log-group", resource_name="*", arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME)
    own = {"StringEquals": {"aws:SourceAccount": stack.account}}
    of_logs = {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": logs}}
    services = (
        (f"logs.{stack.region}.{stack.url_suffix}", LOGS, of_logs),
        ("events.amazonaws.com", SENDING, own),  # to the queue of dead letters
        ("cloudwatch.amazonaws.com", SENDING, own),  # to the topic of the alarms
    )
    return [
        iam.PolicyStatement(actions=actions, resources=["*"], principals=[iam.ServicePrincipal(name)], conditions=conditions)
        for name, actions, conditions in services
    ]


def _own(stack: cdk.Stack, settings: Settings) -> kms.Key:
    """With yearly rotation. In production it survives the stack, because the data does."""
    keep = settings.keep_data
    key = kms.Key(
        stack,
        ID,
        description=f"Data that {settings.stack_name} stores",
        enable_key_rotation=True,
        removal_policy=cdk.RemovalPolicy.RETAIN if keep else cdk.RemovalPolicy.DESTROY,
        pending_window=None if keep else cdk.Duration.days(PENDING_DAYS),
    )
    for statement in service_statements(stack):
        key.add_to_resource_policy(statement)
    return key
