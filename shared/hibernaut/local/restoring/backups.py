"""The table of a moment: DynamoDB's point-in-time recovery into a new table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from threading import Event
from typing import Any

from hibernaut.local.administration.stack_outputs import reason_of
from hibernaut.local.profiles import CannotServe
from hibernaut.local.progress import ProgressReport

LOOK = 10.0


def restored_name(env: str, moment: datetime) -> str:
    """The name of the table of a moment: the same command finds it again."""
    return f"hibernaut-{env}-restored-{moment:%Y%m%dT%H%M%SZ}"


def restored_table(
    client: Any,
    *,
    source: str,
    name: str,
    moment: datetime,
    report: ProgressReport,
    wait: Callable[[float], object] | None = None,
) -> None:
    """Have DynamoDB restore the table, unless it has or does so, and wait until it is there. Raises: CannotServe, errors of
    botocore.
    """
    from botocore.exceptions import ClientError

    wait = wait or Event().wait
    if _status(client, name) is None:
        report.line(f"DynamoDB restores {source} as of {moment:%Y-%m-%d %H:%M:%S} UTC to {name}. This takes from 10 minutes on.")
        try:
            client.restore_table_to_point_in_time(SourceTableName=source, TargetTableName=name, RestoreDateTime=moment)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in ("InvalidRestoreTimeException", "PointInTimeRecoveryUnavailableException"):
                found = client.describe_continuous_backups(TableName=source)["ContinuousBackupsDescription"]
                window = found.get("PointInTimeRecoveryDescription", {})
                earliest, latest = (window.get(f"{name}RestorableDateTime") for name in ("Earliest", "Latest"))
                raise CannotServe(f"{source} can be restored to a time between {earliest} and {latest}") from error
            raise CannotServe(f"{source} cannot be restored: {reason_of(error.response)}") from error
    else:
        report.line(f"{name} is there from an earlier attempt and is used again.")
    while (status := _status(client, name)) != "ACTIVE":
        if status not in ("CREATING", None):
            raise CannotServe(f"{name} is {status}; delete it and run the command again")
        wait(LOOK)


def _status(client: Any, table: str) -> str | None:
    from botocore.exceptions import ClientError

    try:
        return str(client.describe_table(TableName=table)["Table"]["TableStatus"])
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        return None
