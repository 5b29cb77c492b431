"""Brings a stack back to a moment, in steps that may be interrupted and repeated.

    1  DynamoDB restores the table of the moment into a new table
    2  the target stack is paused; its reserved concurrency is stored in its table
    3  its table is emptied, if necessary, and filled with the items of the new one
    4  both tables are counted and compared
    5  the bodies of the moment are restored, or copied to the target's bucket
    6  the target runs again, and rebuilds its index

The table of a stack is a resource of the stack, so its items are exchanged and not the table (decision 34).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from hibernaut.local.administration.deployment import DeployedResources
from hibernaut.local.administration.reindexing_deployed import build_anew, patient_lambda
from hibernaut.local.profiles import CannotServe
from hibernaut.local.progress import ProgressReport
from hibernaut.local.restoring.backups import restored_name, restored_table
from hibernaut.local.restoring.objects import copy_objects, restore_deleted
from hibernaut.local.restoring.pause import pause, reservations, resume
from hibernaut.local.restoring.table_copy import CopyFailed, Digest, TableCopy, WireItem
from hibernaut.schemas.immutable import immutable

KEYS = ("APIKEY#", "APIKEYS", "RATES", "RATE#")
"""Beginnings of the partition keys of API keys and of what belongs to them: their hashes are worth nothing under another KMS
key.
"""


@immutable
class Restore:
    """What is restored. `table`: a table that holds the records, in place of a restore by DynamoDB. `bucket`: the bodies' bucket,
    if not the stack's. `overwrite`: the target's records may be deleted. `keys`: API keys are restored too.
    """

    moment: datetime
    table: str | None = None
    bucket: str | None = None
    overwrite: bool = False
    keys: bool = True


@immutable
class Restored:
    """What a restore copied: the number of items of `table`, and the digest that both tables have, in hexadecimal."""

    table: str
    items: int
    digest: str


def restore(
    source: DeployedResources,
    target: DeployedResources,
    request: Restore,
    report: ProgressReport,
    *,
    wait: Callable[[float], object] | None = None,
    segments: int = 4,
) -> Restored:
    """Restore the records of `source` into `target`, which may be the same stack. Raises: CannotServe, errors of botocore."""
    dynamodb = target.client("dynamodb")
    own = target.output("TableName")
    name = request.table or restored_name(source.env, request.moment)
    if name == own:
        raise CannotServe(f"{name} is the table of {target.stack} itself; leave out --table to restore it to a moment")
    copy = TableCopy(dynamodb, name, own, includes=lambda item: request.keys or not _is_key(item), wait=wait, segments=segments)
    state = copy.state()
    if state and state["source"] != name:
        raise CannotServe(
            f"a restore from {state['source']} is under way in {own}; end it first: the same command with its --time or --table"
        )
    if not state and not request.overwrite and copy.has_data():
        raise CannotServe(f"{own} holds records, which a restore deletes; say so with --overwrite")
    if request.table is None:
        restored_table(dynamodb, source=source.output("TableName"), name=name, moment=request.moment, report=report, wait=wait)
    if not state:
        copy.remember(source=name, reserved=reservations(target), stage="empty")
        state = copy.state()
    pause(target, report)
    found = _exchange(copy, state, report)
    _bodies(source, target, request, report)
    resume(target, state["reserved"], report)
    copy.forget()
    _index(target, report, wait)
    report.line(f"Done. {name} may be deleted when all is well. Dead letters of the pause: hibernaut redrive --env {target.env}")
    return Restored(name, found.items, f"{found.sum:064x}")


def _exchange(copy: TableCopy, state: dict[str, str], report: ProgressReport) -> Digest:
    if state["stage"] == "empty":
        copy.empty(report)
        copy.remember(stage="copy")
    report.line("The table is empty; its items are copied.")
    copy.copy(report)
    report.line("All items are copied; both tables are compared.")
    try:
        found = copy.verify()
    except CopyFailed as error:
        copy.begin_again()
        raise CannotServe(str(error)) from error
    report.line(f"{found.items:,} items are equal, digest {found.sum:064x}.")
    return found


def _bodies(source: DeployedResources, target: DeployedResources, request: Restore, report: ProgressReport) -> None:
    own = target.output("BucketName")
    bucket = request.bucket or source.output("BucketName")
    client: Any = target.client("s3")
    if bucket == own:
        restore_deleted(client, bucket, request.moment, report)
    else:
        copy_objects(client, bucket, own, request.moment, report)


def _index(target: DeployedResources, report: ProgressReport, wait: Callable[[float], object] | None) -> None:
    if "index_memory" in target.functions:
        build_anew(target.functions["index_memory"], patient_lambda(), report, wait)


def _is_key(item: WireItem) -> bool:
    tenant_row = item["pk"]["S"].endswith("#APIKEYS")
    return tenant_row or str(item["pk"]["S"]).startswith(KEYS)


def moment_of(text: str) -> datetime:
    """The moment that a text in ISO 8601 denotes, to the second; a text without a zone is UTC. Raises: ValueError."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time like 2026-11-23T03:05:00Z") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).replace(microsecond=0)
