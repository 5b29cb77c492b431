"""The bodies of a moment in S3. A key of a body is used once, so its only version is the body, and a deletion is a marker in
front of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import Any

from hibernaut.local.progress import ProgressReport

TOGETHER = 1000


def restore_deleted(client: Any, bucket: str, moment: datetime, report: ProgressReport) -> int:
    """Undo the deletions since `moment` by removing their markers. Returns the number of objects; errors of botocore are raised.

    Newer objects stay: the restored table does not refer to them, and the collector of unreferenced blobs deletes them.
    """
    count = 0
    for key, history in _histories(client, bucket):
        markers = [one for one in history if "ETag" not in one and one["LastModified"] > moment]
        if markers and any("ETag" in one and one["LastModified"] <= moment for one in history) and _version_at(history, moment):
            for marker in markers:
                client.delete_object(Bucket=bucket, Key=key, VersionId=marker["VersionId"])
            count += 1
    report.line(f"{count:,} deleted objects of {bucket} are back.")
    return count


def copy_objects(client: Any, source: str, target: str, moment: datetime, report: ProgressReport) -> int:
    """Copy the objects of `moment` that the target lacks. Returns their number."""
    there = {one["Key"] for page in _listed(client, target) for one in page}
    count = 0
    for key, history in _histories(client, source):
        version = _version_at(history, moment)
        if version is not None and key not in there:
            client.copy_object(Bucket=target, Key=key, CopySource={"Bucket": source, "Key": key, "VersionId": version})
            count += 1
    report.line(f"{count:,} objects of {source} were copied to {target}.")
    return count


def _version_at(history: list[Any], moment: datetime) -> str | None:
    """The version that a reader found at the moment; None: none, or a deletion was the newest event."""
    before = [one for one in history if one["LastModified"] <= moment]
    newest = max(before, key=lambda one: one["LastModified"], default=None)
    return str(newest["VersionId"]) if newest is not None and "ETag" in newest else None


def _histories(client: Any, bucket: str) -> Iterator[tuple[str, list[Any]]]:
    """Every key with its versions and the markers of its deletions. A page may end within a key."""
    pages = client.get_paginator("list_object_versions").paginate(Bucket=bucket, MaxKeys=TOGETHER)
    events = (one for page in pages for one in _by_key(page))
    for key, history in groupby(events, key=lambda one: one["Key"]):
        yield str(key), list(history)


def _by_key(page: Any) -> list[Any]:
    return sorted((*page.get("Versions", ()), *page.get("DeleteMarkers", ())), key=lambda one: str(one["Key"]))


def _listed(client: Any, bucket: str) -> Iterator[list[Any]]:
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        yield page.get("Contents", [])
