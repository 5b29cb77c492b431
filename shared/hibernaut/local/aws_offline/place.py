"""Where the pretended AWS is: its account, its region, and what CloudFormation fills in by itself. Knows names only."""

from __future__ import annotations

REGION = "us-east-1"
ACCOUNT = "123456789012"

VARIABLES = {
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_ACCESS_KEY_ID": "offline",
    "AWS_SECRET_ACCESS_KEY": "offline",
    "AWS_EC2_METADATA_DISABLED": "true",
    # X-Ray and metrics have nobody to report to.
    "POWERTOOLS_TRACE_DISABLED": "true",
    # Whoever tries a callback out here listens on this machine.
    "HIBERNAUT_PRIVATE_CALLBACKS": "yes",
}
"""What Lambda sets for every function, as far as boto3 and the logger read it, and what a pretended AWS allows. moto answers any credentials."""


def pseudo_parameters(stack: str) -> dict[str, str]:
    """CloudFormation's own parameters, for a stack of this name."""
    return {
        "AWS::Region": REGION,
        "AWS::AccountId": ACCOUNT,
        "AWS::Partition": "aws",
        "AWS::URLSuffix": "amazonaws.com",
        "AWS::StackName": stack,
        "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{stack}/offline",
    }
