"""Log groups with a retention period. Knows the retention period of logs and whether they outlive the stack."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.constructs.data_key import data_key
from infra.settings import Settings

RETENTION = {7: logs.RetentionDays.ONE_WEEK, 14: logs.RetentionDays.TWO_WEEKS, 90: logs.RetentionDays.THREE_MONTHS}


def log_group(scope: Construct, id: str, settings: Settings, *, name: str | None = None) -> logs.LogGroup:
    """A log group of one environment; without `name`, CloudFormation chooses one."""
    return logs.LogGroup(
        scope,
        id,
        log_group_name=name,
        retention=RETENTION[settings.log_days],
        encryption_key=data_key(scope, settings),
        removal_policy=cdk.RemovalPolicy.RETAIN if settings.keep_data else cdk.RemovalPolicy.DESTROY,
    )
