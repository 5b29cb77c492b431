"""The emulated AWS: its account, its region, and CloudFormation's pseudo parameters. Knows names only."""

from __future__ import annotations

REGION = "us-east-1"
ACCOUNT = "123456789012"

VARIABLES = {
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_ACCESS_KEY_ID": "offline",
    "AWS_SECRET_ACCESS_KEY": "offline",
    "AWS_EC2_METADATA_DISABLED": "true",
    # X-Ray and metrics have no receiver here.
    "POWERTOOLS_TRACE_DISABLED": "true",
    # A receiver of callbacks in tests listens on this machine.
    "HIBERNAUT_PRIVATE_ADDRESSES": "127.0.0.0/8,::1/128",
    # The gateway listens on a loopback address, so requests need no key before the first one is created.
    "HIBERNAUT_KEYS": "optional",
}
"""The variables that Lambda sets for every function, as far as boto3 and the logger read them, and those for the emulation. moto
accepts any credentials.
"""


def pseudo_parameters(stack: str) -> dict[str, str]:
    """CloudFormation's pseudo parameters for a stack with this name."""
    return {
        "AWS::Region": REGION,
        "AWS::AccountId": ACCOUNT,
        "AWS::Partition": "aws",
        "AWS::URLSuffix": "amazonaws.com",
        "AWS::StackName": stack,
        "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{stack}/offline",
    }
