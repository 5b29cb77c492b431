"""The fixes that moto needs to emulate AWS for this product.

Knows: that the fixes depend on the internals of one version of moto. Must not know: what runs on it. Each module of fixes lists
what moto does without them; a test shows each fix.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from hibernaut.local.aws_offline.moto.executions import ExecutionEnded
from hibernaut.local.aws_offline.moto.objects import CreatedObjects
from hibernaut.local.aws_offline.moto.sockets import OpenConnections

MOTO_VERSION = "5.2.5"
"""The version whose internals are replaced. Another version needs a review of every fix."""


def install(*, time_scale: float = 1.0) -> None:
    """Fix moto in this process; call it before the first client is created. A later call only changes the scale.

    time_scale: the real duration in seconds of one second of a workflow's Wait or of a retry's interval.
    """
    from hibernaut.local.aws_offline.moto import (
        capacity,
        dynamodb,
        executions,
        expressions,
        requests,
        step_functions,
        values,
    )

    # Else botocore may put the account's id before the host name, in a form that moto's DynamoDB Streams does not know (404).
    os.environ.setdefault("AWS_ACCOUNT_ID_ENDPOINT_MODE", "disabled")
    requests.install()  # before any service of moto is imported
    values.install()
    dynamodb.install()
    expressions.install()
    capacity.install()
    executions.install()
    step_functions.install(time_scale=time_scale)


def wait_execution(arn: str, timeout: float = 45.0) -> str:
    """Block, without polling, until an execution ends or `timeout` seconds have passed; returns its status."""
    from hibernaut.local.aws_offline.moto import executions

    return executions.wait_execution(arn, timeout)


def wait_rest(arn: str, timeout: float = 45.0) -> str:
    """As `wait_execution`, but also returns when the execution waits for an approval."""
    from hibernaut.local.aws_offline.moto import executions

    return executions.wait_rest(arn, timeout)


def executions_of(machine: str) -> list[str]:
    """The names of a machine's executions, without a request."""
    from hibernaut.local.aws_offline.moto import executions

    return executions.names_of(machine)


def listen_to_ends(listener: Callable[[ExecutionEnded], None]) -> AbstractContextManager[None]:
    """Within the context, the listener is called at the end of every execution."""
    from hibernaut.local.aws_offline.moto import executions

    return executions.listen_to_ends(listener)


def listen_to_changes(listener: Callable[[dict[str, Any]], None]) -> AbstractContextManager[None]:
    """Within the context, the listener is called, within each write, for every record of a table's change stream."""
    from hibernaut.local.aws_offline.moto import dynamodb

    return dynamodb.listen_to_changes(listener)


def listen_to_objects(listener: Callable[[CreatedObjects], None]) -> AbstractContextManager[None]:
    """Within the context, the listener is called for every new object."""
    from hibernaut.local.aws_offline.moto import objects as moto_objects

    return moto_objects.listen_to_objects(listener)


def connections_behind_moto(gateway: OpenConnections) -> AbstractContextManager[None]:
    """Within the context, the management API of WebSocket connections reaches these connections."""
    from hibernaut.local.aws_offline.moto import sockets as moto_sockets

    return moto_sockets.connections_behind_moto(gateway)
