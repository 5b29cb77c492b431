"""Checks of a deployed stack's foundation: the stack itself, its version, the clock, table and bucket."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from hibernaut import __version__
from hibernaut.local.administration.deployment import DeployedResources
from hibernaut.local.doctor.findings import Level

Result = tuple[Level, str] | tuple[Level, str, str]
NEEDED = ("TableName", "BucketName", "StateMachineArn", "SecretsPath", "SecretsKeyArn", "DeadLettersUrl", "Version")
LONGEST_DIFFERENCE = 60.0
"""Seconds. AWS refuses signatures that are older than five minutes."""
TTL = "ttl"


def stack(place: DeployedResources) -> Iterator[Result]:
    """The stack's state, its last change and its outputs."""
    (found,) = place.client("cloudformation").describe_stacks(StackName=place.stack)["Stacks"]
    status = str(found["StackStatus"])
    changed = found.get("LastUpdatedTime") or found["CreationTime"]
    if status.endswith("_IN_PROGRESS"):
        yield "warning", f"{place.stack} is being changed ({status})", "wait for the end of the deployment"
    elif status.endswith("_FAILED") or status in ("ROLLBACK_COMPLETE", "DELETE_COMPLETE"):
        yield (
            "failure",
            f"{place.stack} is {status}",
            "read the stack's events in CloudFormation, mend the cause and deploy again",
        )
    elif status == "UPDATE_ROLLBACK_COMPLETE":
        yield "warning", f"the last deployment of {place.stack} was rolled back", "read the stack's events, and deploy again"
    else:
        yield "ok", f"{place.stack} is {status} since {changed:%Y-%m-%d %H:%M} UTC"
    if missing := [name for name in NEEDED if name not in place.outputs]:
        yield "warning", f"it has no output {', '.join(missing)}", "deploy this version of Hibernaut"


def version(place: DeployedResources) -> Iterator[Result]:
    """Whether this command and the stack are of one version."""
    deployed = place.outputs.get("Version")
    if deployed is None:
        yield "warning", f"the stack does not say its version; this command is {__version__}", "deploy this version of Hibernaut"
    elif deployed != __version__:
        yield (
            "warning",
            f"the stack is {deployed}, this command is {__version__}",
            "deploy this version, or use the command of the stack's version for keys, redrive and restore",
        )
    else:
        yield "ok", f"stack and command are {deployed}"


def clock(place: DeployedResources) -> Iterator[Result]:
    """The difference between this machine's clock and that of AWS."""
    answer = place.client("cloudformation").describe_stacks(StackName=place.stack)
    theirs = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    if theirs is None:
        yield "note", "AWS did not say its time"
        return
    seconds = (datetime.now(UTC) - parsedate_to_datetime(theirs)).total_seconds()
    if abs(seconds) > LONGEST_DIFFERENCE:
        yield (
            "warning",
            f"this machine's clock is {seconds:+.0f} seconds from that of AWS",
            "set the clock: AWS refuses requests from five minutes on",
        )
    else:
        yield "ok", "this machine's clock is that of AWS"


def table(place: DeployedResources) -> Iterator[Result]:
    """The table: its state, its indexes, backups, expiry and stream."""
    name, dynamodb = place.output("TableName"), place.client("dynamodb")
    found = dynamodb.describe_table(TableName=name)["Table"]
    busy = [one["IndexName"] for one in found.get("GlobalSecondaryIndexes", ()) if one.get("IndexStatus", "ACTIVE") != "ACTIVE"]
    if found["TableStatus"] != "ACTIVE" or busy:
        yield (
            "failure",
            f"{name} is {found['TableStatus']}{''.join(f', index {one} is not ready' for one in busy)}",
            "wait, or look at the table in DynamoDB",
        )
    else:
        yield "ok", f"{name} is ACTIVE, about {found.get('ItemCount', 0):,} items (counted every six hours)"
    view = found.get("StreamSpecification", {}).get("StreamViewType")
    if view != "NEW_AND_OLD_IMAGES":
        yield "failure", f"its change stream is {view or 'off'}: memory is not indexed", "deploy the stack again"
    backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    if backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") != "ENABLED":
        yield "failure", "point-in-time recovery is off: nothing can be restored", "deploy the stack again"
    expiry = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    if expiry.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING") or expiry.get("AttributeName") != TTL:
        yield "warning", "items do not expire: journals, events and marks stay for ever", "deploy the stack again"


def bucket(place: DeployedResources) -> Iterator[Result]:
    """The bucket: whether it answers, and keeps deleted objects for a restore."""
    name = place.output("BucketName")
    found = place.client("s3").get_bucket_versioning(Bucket=name)
    if found.get("Status") != "Enabled":
        yield (
            "warning",
            f"{name} keeps no versions: bodies that were deleted cannot be restored",
            "deploy this version of Hibernaut",
        )
    else:
        yield "ok", f"{name} keeps versions of deleted objects"
