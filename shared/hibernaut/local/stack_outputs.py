"""The outputs of a deployed stack, by CloudFormation. boto3 is imported on use, because the local set of dependencies does not contain it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hibernaut.local.profiles import CannotServe


def outputs_of(stack: str) -> Mapping[str, str]:
    """The outputs by name. Raises: CannotServe; BotoCoreError without a connection or credentials."""
    import boto3
    from botocore.exceptions import ClientError

    try:
        (found,) = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        raise CannotServe(f"the stack {stack} cannot be described: {reason_of(error.response)}") from error
    return {str(output["OutputKey"]): str(output["OutputValue"]) for output in found.get("Outputs", ())}


def reason_of(response: Any) -> str:
    """The code and the message of an error response of AWS."""
    error = response.get("Error", {})
    return f"{error.get('Code', 'Error')}: {error.get('Message', '')}"
