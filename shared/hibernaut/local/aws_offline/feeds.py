"""Lambda's side of the table's change stream: what the template's mappings let through is told to their functions, in batches.

Knows: how Lambda reads a stream, filters, tries again, and gives up. Must not know: what a function does with it.
moto's own mappings tell the function within the write, filter nothing, and forget what fails: so none is made there.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Self

from hibernaut.local.aws_offline import moto_fixes
from hibernaut.local.aws_offline.lambdas import Lambdas, Reply
from hibernaut.local.aws_offline.place import REGION
from hibernaut.local.aws_offline.resources import client
from hibernaut.local.aws_offline.rules import fits
from hibernaut.local.aws_offline.stack import Stack
from hibernaut.schemas.base import Json, JsonObject

PAGE = 1000
GATHERING = 0.1
"""Seconds that records are gathered for before they are told, by those who are not asked to tell them."""
REST = 0.5
"""Seconds after which they tell again what failed."""


class Feed:
    """One mapping of the template, and how far it has come in its stream. A function sees each record once or more often, in order."""

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
        """Tell all that is new, and once more what failed the last time; how many records were told. A batch that fails keeps what is
        behind it waiting for the next call, until it has been tried as often as the mapping says: then it is a dead letter."""
        with self._turn:
            told = 0
            while batch := self._batch():
                told += len(batch)
                done = self._done(batch, self._lambdas.invoke(self._function, {"Records": batch}))
                del self._waiting[:done]
                self._tried = 0 if done else self._tried + 1
                if done < len(batch) and not self._given_up():
                    break
            return told

    def concerned(self, record: Mapping[str, Any]) -> bool:
        """Whether the function is told of such a change."""
        return any(fits(pattern, dict(record)) for pattern in self._patterns)

    @property
    def waiting(self) -> bool:
        """Whether something failed that is to be told once more."""
        return bool(self._waiting)

    def _batch(self) -> list[JsonObject]:
        """What is told next: what the function itself wrote meanwhile comes behind what waits."""
        if len(self._waiting) < self._at_once:
            self._waiting += self._new()
        return self._waiting[: self._at_once]

    def _done(self, batch: list[JsonObject], reply: Reply) -> int:
        """How many records, from the first, are done with: all before the lowest that is reported back."""
        if reply.failed:
            return 0
        numbers = [record["dynamodb"]["SequenceNumber"] for record in batch]
        failed = {failure["itemIdentifier"] for failure in (reply.payload or {}).get("batchItemFailures", [])}
        return next((place for place, number in enumerate(numbers) if number in failed), len(batch))

    def _given_up(self) -> bool:
        """Whether the first that waits was tried often enough; then its place in the stream is a dead letter, and it waits no more."""
        if self._tried < self._tries:
            return False
        first = self._waiting.pop(0)["dynamodb"]["SequenceNumber"]
        letter = {"DDBStreamBatchInfo": {"startSequenceNumber": first, "batchSize": 1, "streamArn": self._stream}}
        queue = client("sqs").get_queue_url(QueueName=self._letters.rsplit(":", 1)[1])["QueueUrl"]
        client("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps(letter))
        self._tried = 0
        return True

    def _new(self) -> list[JsonObject]:
        records = [_as_lambda_tells(record, self._stream) for record in self._read()]
        return [record for record in records if self.concerned(record)]

    def _read(self) -> Iterator[Mapping[str, Any]]:
        """What the stream has told since."""
        at = self._at or self._beginning()
        while True:
            page = client("dynamodbstreams").get_records(ShardIterator=at, Limit=PAGE)
            yield from page["Records"]
            self._at = at = page["NextShardIterator"]
            if len(page["Records"]) < PAGE:
                return

    def _beginning(self) -> str:
        """Where the stream begins; moto has one shard."""
        streams = client("dynamodbstreams")
        (shard,) = streams.describe_stream(StreamArn=self._stream)["StreamDescription"]["Shards"]
        asked = {"StreamArn": self._stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        return str(streams.get_shard_iterator(**asked)["ShardIterator"])


class Feeds:
    """All mappings of a stack."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self._feeds = feeds

    @classmethod
    def of(cls, stack: Stack, lambdas: Lambdas) -> Self:
        return cls([Feed(one.properties, lambdas) for one in stack.of_type("AWS::Lambda::EventSourceMapping")])

    def pump(self) -> int:
        """As `Feed.pump`, for each."""
        return sum(feed.pump() for feed in self._feeds)

    @contextmanager
    def by_themselves(self) -> Iterator[None]:
        """Meanwhile a thread tells what is new as it comes, and what failed after a rest."""
        news, over = threading.Event(), threading.Event()

        def changed(record: Mapping[str, Any]) -> None:
            if any(feed.concerned(record) for feed in self._feeds):
                news.set()

        def tell() -> None:
            while not over.wait(GATHERING):
                news.clear()
                self.pump()
                news.wait(REST if any(feed.waiting for feed in self._feeds) else None)

        telling = threading.Thread(target=tell, daemon=True, name="stream")
        with moto_fixes.told_of_changes(changed):
            telling.start()
            try:
                yield
            finally:
                over.set()
                news.set()
                telling.join()


def _as_lambda_tells(record: Mapping[str, Any], stream: str) -> JsonObject:
    """A record of GetRecords as it stands in a function's event."""
    told = dict(record["dynamodb"])
    made = told.pop("ApproximateCreationDateTime", None)
    if isinstance(made, datetime):
        told["ApproximateCreationDateTime"] = made.timestamp()
    event: dict[str, Json] = {
        "eventID": record["eventID"],
        "eventName": record["eventName"],
        "eventVersion": record.get("eventVersion", "1.1"),
        "eventSource": "aws:dynamodb",
        "awsRegion": REGION,
        "dynamodb": told,
        "eventSourceARN": stream,
    }
    return event
