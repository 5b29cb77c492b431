"""Feeds the index of memory: the table's change stream tells of pointers, and what they name is indexed.

A clock calls it as well, to take again what the stream has given up; and whoever wants the index built anew, by hand.
"""

from __future__ import annotations

from collections.abc import Callable

from functions.events import LambdaContext
from functions.log import log
from hibernaut.adapters.table.dynamodb_stream import record_of
from hibernaut.schemas.base import JsonObject
from hibernaut.services.search.indexing import IndexedBatch
from hibernaut.wiring import aws
from hibernaut.wiring.aws import IndexFeed


def handler(event: JsonObject, context: LambdaContext, feed: IndexFeed | None = None) -> JsonObject:
    """Of the stream's records those are reported back that must be told again. Raises: whatever keeps the table from being read."""
    feed = feed or aws.feed()
    if "Records" in event:
        return _told(event["Records"], feed, context)
    if "reindex" in event:
        records = feed.reindexing.begin([event["reindex"]], lambda _progress: None)
        log().info("index emptied", extra={"records": records, "request_id": context.aws_request_id})
        return {"records": records}
    if "reindexed" in event:
        return _built(event["reindexed"], feed)
    taken = feed.feeding.take_again(event["retake"], time_left=_seconds_of(context))
    log().info("pointers taken again", extra={**_counted(taken), "request_id": context.aws_request_id})
    return _counted(taken)


def _told(records: list[JsonObject], feed: IndexFeed, context: LambdaContext) -> JsonObject:
    """The lowest number that is reported is where the stream goes on."""
    changes = {record["dynamodb"]["SequenceNumber"]: record_of(record["dynamodb"]) for record in records}
    told = ((change.key, change.new) for change in changes.values())
    taken = feed.feeding.take(told, time_left=_seconds_of(context))
    again = [number for number, change in changes.items() if change.key in taken.left]
    log().info("memory indexed", extra={**_counted(taken), "request_id": context.aws_request_id})
    return {"batchItemFailures": [{"itemIdentifier": number} for number in again]}


def _built(tenant: str, feed: IndexFeed) -> JsonObject:
    """Whether an index that is built anew knows everything again, and how many pointers stand, those of new things among them."""
    building = feed.reindexing.of(tenant)
    return {"whole": building.end(), "left": building.left()}


def _counted(taken: IndexedBatch) -> JsonObject:
    return {"done": taken.done, "left": len(taken.left)}


def _seconds_of(context: LambdaContext) -> Callable[[], float]:
    return lambda: context.get_remaining_time_in_millis() / 1000
