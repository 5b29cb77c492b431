"""The change stream of a DynamoDB table, read from the outside.

Knows: shards, iterators, sequence numbers. Must not know: the reader, or the contents of items.

A stream has many shards. A full shard is closed and continues in its children; the changes of one item are in one shard, or later
in its children. So parents are read to their end before their children. A cursor contains the last sequence number of each
shard. An open shard counts as read after an empty page.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from hibernaut.adapters.table.dynamodb_requests import plain_item
from hibernaut.ports.storage.table import Key, Record

_PAGE = 1000
"""Records that one answer holds at most (DynamoDB's limit)."""


class _Shard(NamedTuple):
    parent: str | None
    closed: bool


def read_stream(client: Any, arn: str, after: str | None, limit: int) -> list[Record]:
    """Up to `limit` changes after the cursor (None: from the beginning), parents first. `client` is one of DynamoDB Streams."""
    shards = _shards(client, arn)
    positions: dict[str, str] = json.loads(after) if after else {}
    positions = {shard: number for shard, number in positions.items() if shard in shards}
    records: list[Record] = []
    for shard in _parents_first(shards):
        for change in _changes_of(client, arn, shard, closed=shards[shard].closed, number=positions.get(shard)):
            if len(records) == limit:
                return records
            positions[shard] = change["SequenceNumber"]
            records.append(record_of(change, json.dumps(positions, separators=(",", ":"))))
    return records


def lag_of(records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The age of the oldest record of an event in milliseconds, as `lag_ms`; nothing if the stream names no times."""
    times = [float(at) for record in records if (at := record["dynamodb"].get("ApproximateCreationDateTime")) is not None]
    return {"lag_ms": max(0, int((time.time() - min(times)) * 1000))} if times else {}


def _shards(client: Any, arn: str) -> dict[str, _Shard]:
    """Every shard that the stream still has."""
    found: dict[str, _Shard] = {}
    more: dict[str, str] = {}
    while True:
        page = client.describe_stream(StreamArn=arn, **more)["StreamDescription"]
        for shard in page["Shards"]:
            closed = "EndingSequenceNumber" in shard.get("SequenceNumberRange", {})
            found[shard["ShardId"]] = _Shard(shard.get("ParentShardId"), closed)
        if "LastEvaluatedShardId" not in page:
            return found
        more = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}


def _parents_first(shards: dict[str, _Shard]) -> list[str]:
    def generation(shard: str) -> int:
        parent = shards[shard].parent
        return generation(parent) + 1 if parent in shards and parent is not None else 0

    return sorted(shards, key=lambda shard: (generation(shard), shard))


def _changes_of(client: Any, arn: str, shard: str, *, closed: bool, number: str | None) -> Iterator[dict[str, Any]]:
    """The changes of one shard after a sequence number, in their order."""
    iterator = _iterator(client, arn, shard, number)
    while iterator is not None:
        page = client.get_records(ShardIterator=iterator, Limit=_PAGE)
        for record in page["Records"]:
            yield record["dynamodb"]
        if not page["Records"] and not closed:
            return
        iterator = page.get("NextShardIterator")


def _iterator(client: Any, arn: str, shard: str, number: str | None) -> str | None:
    """Behind the sequence number; at the shard's beginning where there is none, or where the stream has forgotten it."""
    from botocore.exceptions import ClientError

    if number is not None:
        try:
            answer = client.get_shard_iterator(
                StreamArn=arn, ShardId=shard, ShardIteratorType="AFTER_SEQUENCE_NUMBER", SequenceNumber=number
            )
            return str(answer["ShardIterator"])
        except ClientError as error:
            if error.response["Error"].get("Code") != "TrimmedDataAccessException":
                raise
    answer = client.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    return str(answer["ShardIterator"])


def record_of(change: dict[str, Any], cursor: str = "") -> Record:
    """One change from the stream's form, which is also the form of Lambda's events (`Records[].dynamodb`)."""
    key = plain_item(change["Keys"])
    old, new = change.get("OldImage"), change.get("NewImage")
    return Record(
        cursor=cursor,
        key=Key(str(key["pk"]), str(key["sk"])),
        old=plain_item(old) if old else None,
        new=plain_item(new) if new else None,
    )
