"""The outputs of a deployed stack, by CloudFormation, and the errors of AWS in one line. botocore is imported on use, because the
local set of dependencies does not contain it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.local.profiles import CannotServe

NO_BOTO3 = "a deployed stack needs boto3, which is not installed here: pip install boto3 (make dev in a checkout)"


def outputs_of(stack: str, client: Any = None) -> Mapping[str, str]:
    """The outputs by name. `client`: a client of CloudFormation (None: one for the user's region). Raises: CannotServe;
    BotoCoreError without a connection or credentials.
    """
    from botocore.config import Config
    from botocore.exceptions import ClientError

    try:
        cloudformation = client or aws_client("cloudformation", Config())
        (found,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        raise CannotServe(f"the stack {stack} cannot be described: {reason_of(error.response)}") from error
    return {str(output["OutputKey"]): str(output["OutputValue"]) for output in found.get("Outputs", ())}


@contextmanager
def aws_errors() -> Iterator[None]:
    """Errors of AWS and of the connection to it in the context become CannotServe, and so does a missing botocore."""
    try:
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError as error:
        raise CannotServe(NO_BOTO3) from error
    try:
        yield
    except BotoCoreError as error:
        raise CannotServe(f"AWS cannot be called: {error}") from error
    except ClientError as error:
        raise CannotServe(f"AWS refuses: {reason_of(error.response)}") from error


def reason_of(response: Any) -> str:
    """The code and the message of an error response of AWS."""
    error = response.get("Error", {})
    return f"{error.get('Code', 'Error')}: {error.get('Message', '')}"
