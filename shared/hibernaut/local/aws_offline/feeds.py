"""The event source mappings of the table's change stream: they filter records and deliver them to the functions in batches.

Knows: how Lambda reads a stream, filters, retries, and gives up. Must not know: what a function does with the records. moto's own
mappings invoke the function within the write, do not filter, and drop failed records, so none is created there.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Self

from hibernaut.local.aws_offline.lambdas import Lambdas, Reply
from hibernaut.local.aws_offline.moto import fixes
from hibernaut.local.aws_offline.place import REGION
from hibernaut.local.aws_offline.resources import client
from hibernaut.local.aws_offline.rules import fits
from hibernaut.local.aws_offline.stack import Stack
from hibernaut.schemas.base import Json, JsonObject

PAGE = 1000
GATHERING = 0.1
"""The batching window in seconds of the background thread."""
REST = 0.5
"""Seconds after which the background thread retries failed records."""


class StreamFeed:
    """One mapping of the template, and its position in the stream. A function gets each record at least once, in order."""

    def __init__(self, properties: JsonObject, lambdas: Lambdas) -> None:
        self._lambdas = lambdas
        self._function: str = properties["FunctionName"]
        self._stream: str = properties["EventSourceArn"]
        self._patterns = [json.loads(one["Pattern"]) for one in properties["FilterCriteria"]["Filters"]]
        self._at_once: int = properties["BatchSize"]
        self._tries: int = properties["MaximumRetryAttempts"] + 1
        self._letters: str = properties["DestinationConfig"]["OnFailure"]["Destination"]
        self._turn = threading.Lock()
        self._at: str | None = None
        self._waiting: list[JsonObject] = []
        self._tried = 0

    def pump(self) -> int:
        """Deliver all new records, and retry failed ones; returns the number of delivered records. A failed batch
        blocks the records after it until the next call. After the mapping's number of attempts it becomes a dead letter.
        """
        with self._turn:
            count = 0
            while batch := self._batch():
                count += len(batch)
                done = self._done(batch, self._lambdas.invoke(self._function, {"Records": batch}))
                del self._waiting[:done]
                self._tried = 0 if done else self._tried + 1
                if done < len(batch) and not self._give_up():
                    break
            return count

    def concerned(self, record: Mapping[str, Any]) -> bool:
        """Whether the mapping's filter accepts the change."""
        return any(fits(pattern, dict(record)) for pattern in self._patterns)

    @property
    def waiting(self) -> bool:
        """Whether failed records wait for a retry."""
        return bool(self._waiting)

    def _batch(self) -> list[JsonObject]:
        """The next batch; records that the function itself wrote meanwhile come after the waiting ones."""
        if len(self._waiting) < self._at_once:
            self._waiting += self._new()
        return self._waiting[: self._at_once]

    def _done(self, batch: list[JsonObject], reply: Reply) -> int:
        """The number of processed records from the start of the batch: all before the lowest reported failure."""
        if reply.failed:
            return 0
        numbers = [record["dynamodb"]["SequenceNumber"] for record in batch]
        failed = {failure["itemIdentifier"] for failure in (reply.payload or {}).get("batchItemFailures", [])}
        return next((place for place, number in enumerate(numbers) if number in failed), len(batch))

    def _give_up(self) -> bool:
        """If the first waiting record has no attempts left, move it from the queue to the dead letters. Returns whether it was
        moved.
        """
        if self._tried < self._tries:
            return False
        first = self._waiting.pop(0)["dynamodb"]["SequenceNumber"]
        letter = {
            "requestContext": {"functionArn": self._lambdas.of(self._function).arn},
            "DDBStreamBatchInfo": {"startSequenceNumber": first, "batchSize": 1, "streamArn": self._stream},
        }
        queue = client("sqs").get_queue_url(QueueName=self._letters.rsplit(":", 1)[1])["QueueUrl"]
        client("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps(letter))
        self._tried = 0
        return True

    def _new(self) -> list[JsonObject]:
        records = [_lambda_record(record, self._stream) for record in self._read()]
        return [record for record in records if self.concerned(record)]

    def _read(self) -> Iterator[Mapping[str, Any]]:
        """The new records of the stream."""
        at = self._at or self._beginning()
        while True:
            page = client("dynamodbstreams").get_records(ShardIterator=at, Limit=PAGE)
            yield from page["Records"]
            self._at = at = page["NextShardIterator"]
            if len(page["Records"]) < PAGE:
                return

    def _beginning(self) -> str:
        """The iterator for the beginning of the stream; moto has one shard."""
        streams = client("dynamodbstreams")
        (shard,) = streams.describe_stream(StreamArn=self._stream)["StreamDescription"]["Shards"]
        position = {"StreamArn": self._stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        return str(streams.get_shard_iterator(**position)["ShardIterator"])


class Feeds:
    """All mappings of a stack."""

    def __init__(self, feeds: Sequence[StreamFeed]) -> None:
        self._feeds = feeds

    @classmethod
    def of(cls, stack: Stack, lambdas: Lambdas) -> Self:
        """The mappings of event sources in the stack."""
        return cls([StreamFeed(one.properties, lambdas) for one in stack.of_type("AWS::Lambda::EventSourceMapping")])

    def pump(self) -> int:
        """As `Feed.pump`, for all mappings; returns the total."""
        return sum(feed.pump() for feed in self._feeds)

    @contextmanager
    def by_themselves(self) -> Iterator[None]:
        """Within the context, a thread delivers new records as they come, and retries failed ones after a pause."""
        news, over = threading.Event(), threading.Event()

        def changed(record: Mapping[str, Any]) -> None:
            if any(feed.concerned(record) for feed in self._feeds):
                news.set()

        def tell() -> None:
            while not over.wait(GATHERING):
                news.clear()
                if over.is_set():  # what was cleared may be the word that it is over
                    return
                self.pump()
                news.wait(REST if any(feed.waiting for feed in self._feeds) else None)

        telling = threading.Thread(target=tell, daemon=True, name="stream")
        with fixes.listen_to_changes(changed):
            telling.start()
            try:
                yield
            finally:
                over.set()
                news.set()
                telling.join()


def _lambda_record(record: Mapping[str, Any], stream: str) -> JsonObject:
    """A record of GetRecords in the form of a function's event."""
    change = dict(record["dynamodb"])
    created_at = change.pop("ApproximateCreationDateTime", None)
    if isinstance(created_at, datetime):
        change["ApproximateCreationDateTime"] = created_at.timestamp()
    event: dict[str, Json] = {
        "eventID": record["eventID"],
        "eventName": record["eventName"],
        "eventVersion": record.get("eventVersion", "1.1"),
        "eventSource": "aws:dynamodb",
        "awsRegion": REGION,
        "dynamodb": change,
        "eventSourceARN": stream,
    }
    return event
