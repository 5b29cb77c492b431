"""The change stream of a table in DynamoDB or an emulator, read from its beginning, as Lambda reads it for deployed functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hibernaut.adapters.table.dynamodb_stream import ChangeRecord, record_of


def changes_of(dynamodb: Any, streams: Any, table: str) -> list[ChangeRecord]:
    """All changes of the table so far. `dynamodb`, `streams`: boto3's clients of the two services."""
    arn = dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"]
    shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    return [record_of(record["dynamodb"]) for shard in shards for record in _records(streams, arn, shard["ShardId"])]


def _records(streams: Any, arn: str, shard: str) -> Iterator[Any]:
    """The records of one shard. An open shard ends with an empty page."""
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    while iterator is not None:
        page = streams.get_records(ShardIterator=iterator)
        yield from page["Records"]
        iterator = page.get("NextShardIterator") if page["Records"] else None
