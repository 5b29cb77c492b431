"""The trust policy of a role: a service may assume it, and only on behalf of this account.

Without the condition another account could make the service use the role for its own resource
(docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html). Scheduler and Step Functions document the condition for their
roles; AWS's own serverless skills (aws/agent-toolkit-for-aws) set it for Lambda's.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam


def service_for_this_account(service: str) -> iam.ServicePrincipal:
    """The principal of a service like lambda.amazonaws.com, limited to resources of the stack's account."""
    return iam.ServicePrincipal(service, conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}})
