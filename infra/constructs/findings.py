"""Accepted findings of cdk-nag: each is suppressed where it occurs, by its exact name, with a reason."""

from __future__ import annotations

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import IConstruct

ANYTHING = "Resource::*"


@dataclass(frozen=True, slots=True)
class Grant:
    """A permission. If its resource ends in a wildcard, `wildcard` is the name of that finding and `reason` why it is
    necessary.
    """

    statement: iam.PolicyStatement
    wildcard: str | None = None
    reason: str = ""


def accept(where: IConstruct, rule: str, reason: str) -> None:
    """Accept a rule's findings at and below a construct; a rule with a finding in brackets accepts only that finding."""
    cdk.Validations.of(where).acknowledge(cdk.Acknowledgment(id=f"AwsSolutions::AwsSolutions-{rule}", reason=reason))


def give(role: iam.Role, *grants: Grant) -> None:
    """Add the permissions to a role, and accept their wildcards there."""
    for grant in grants:
        role.add_to_policy(grant.statement)
        if grant.wildcard is not None:
            accept(role, f"IAM5[{grant.wildcard}]", grant.reason)


def arn_pattern(*, service: str, resource: str) -> str:
    """The finding's name for a resource of this account and region."""
    return f"Resource::arn:<AWS::Partition>:{service}:<AWS::Region>:<AWS::AccountId>:{resource}"
