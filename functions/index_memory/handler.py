"""Feeds the memory index: indexes the records that the pointers in the table's change stream name.

A schedule invokes the function too, to retry the pointers that the stream gave up. An operator invokes it to rebuild the index.
"""

from __future__ import annotations

from collections.abc import Callable

from functions.events import LambdaContext
from functions.log import correlated, log
from hibernaut.adapters.table.dynamodb_stream import lag_of, record_of
from hibernaut.schemas.base import JsonObject
from hibernaut.services.search.indexing import IndexedBatch
from hibernaut.wiring import aws
from hibernaut.wiring.aws import IndexFeed


@correlated
def handler(event: JsonObject, context: LambdaContext, feed: IndexFeed | None = None) -> JsonObject:
    """Handle one of four events: `Records` (of the change stream), `retake`, `reindex` (a rebuild of the index), or `reindexed`
    (its progress). The last three concern all tenants, because one index serves them all.

    For `Records`, the response names the records that the stream must deliver again. Raises: errors of the table.
    """
    feed = feed or aws.feed()
    if "Records" in event:
        return _records(event["Records"], feed, context)
    if "reindex" in event:
        records = feed.reindexing.begin(feed.reindexing.tenants(), lambda _progress: None)
        log().info("index emptied", extra={"records": records})
        return {"records": records}
    if "reindexed" in event:
        return {"whole": feed.reindexing.end(), "left": feed.reindexing.remaining()}
    batch = feed.feeding.take_all_again(feed.reindexing.tenants(), time_left=_seconds_of(context))
    log().info("pointers taken again", extra=_counted(batch) | {"oldest_ms": batch.oldest_ms})
    return _counted(batch)


def _records(records: list[JsonObject], feed: IndexFeed, context: LambdaContext) -> JsonObject:
    """Index stream records. The response names the unprocessed records; the stream continues at the first of them."""
    changes = {record["dynamodb"]["SequenceNumber"]: record_of(record["dynamodb"]) for record in records}
    pointers = ((change.key, change.new) for change in changes.values())
    batch = feed.feeding.take(pointers, time_left=_seconds_of(context))
    log().info("memory indexed", extra=_counted(batch) | lag_of(records))
    return {
        "batchItemFailures": [{"itemIdentifier": number} for number, change in changes.items() if change.key in batch.remaining]
    }


def _counted(batch: IndexedBatch) -> JsonObject:
    return {"done": batch.done, "left": len(batch.remaining)}


def _seconds_of(context: LambdaContext) -> Callable[[], float]:
    return lambda: context.get_remaining_time_in_millis() / 1000
