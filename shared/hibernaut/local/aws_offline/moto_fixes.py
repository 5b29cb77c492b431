"""What moto must be taught before it can stand for AWS.

Knows: that moto's insides are those of one version. Must not know: what runs on it.
The modules of fixes say, fix by fix, what moto does without it; the tests show each.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from hibernaut.local.aws_offline.moto_executions import Ended
from hibernaut.local.aws_offline.moto_objects import Created

MOTO_VERSION = "5.2.5"
"""The version whose insides are replaced. Another one needs every fix looked at again."""


def install(*, time_scale: float = 1.0) -> None:
    """Fix moto in this process; call it before the first client is made. Calling it again only sets the scale anew.

    time_scale: what one second of a workflow's Wait or of a retry's interval takes here, in seconds.
    """
    from hibernaut.local.aws_offline import moto_dynamodb, moto_executions, moto_step_functions

    # Else botocore may put the account's id before the host name, in a form that moto's DynamoDB Streams does not know (404).
    os.environ.setdefault("AWS_ACCOUNT_ID_ENDPOINT_MODE", "disabled")
    moto_dynamodb.install()
    moto_executions.install()
    moto_step_functions.install(time_scale=time_scale)


def wait_execution(arn: str, timeout: float = 45.0) -> str:
    """Block, without asking again and again, until an execution ends or `timeout` seconds have passed; its status."""
    from hibernaut.local.aws_offline import moto_executions

    return moto_executions.wait_execution(arn, timeout)


def wait_rest(arn: str, timeout: float = 45.0) -> str:
    """As `wait_execution`, or until it waits for an approval."""
    from hibernaut.local.aws_offline import moto_executions

    return moto_executions.wait_rest(arn, timeout)


def told_of_ends(listener: Callable[[Ended], None]) -> AbstractContextManager[None]:
    """Meanwhile the listener is told of the end of every execution."""
    from hibernaut.local.aws_offline import moto_executions

    return moto_executions.told_of_ends(listener)


def told_of_changes(listener: Callable[[dict[str, Any]], None]) -> AbstractContextManager[None]:
    """Meanwhile the listener is told, within each write, of what a table's change stream is given."""
    from hibernaut.local.aws_offline import moto_dynamodb

    return moto_dynamodb.told_of_changes(listener)


def told_of_objects(listener: Callable[[Created], None]) -> AbstractContextManager[None]:
    """Meanwhile the listener is told of every object that comes to be."""
    from hibernaut.local.aws_offline import moto_objects

    return moto_objects.told_of_objects(listener)
