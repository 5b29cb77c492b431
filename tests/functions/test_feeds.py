"""The change stream in this process is told as Lambda tells it: in batches, from the lowest failure on, and not for ever."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from moto import mock_aws

from hibernaut.adapters.table.definition import table_definition
from hibernaut.local.aws_offline import feeds as feeds_module
from hibernaut.local.aws_offline.feeds import Feeds, StreamFeed
from hibernaut.local.aws_offline.lambdas import Reply
from hibernaut.local.aws_offline.moto import fixes as moto_fixes
from hibernaut.local.aws_offline.resources import client

PATIENCE = 30.0
QUEUE = "arn:aws:sqs:us-east-1:123456789012:letters"


class Function:
    """The function behind the mapping: it fails on what is in `refused`, or as a whole."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.refused: set[str] = set()
        self.broken = False
        self.told = threading.Semaphore(0)

    def of(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(arn=f"arn:aws:lambda:us-east-1:123456789012:function:{name}")

    def invoke(self, _name: str, event: Any) -> Reply:
        names = {record["dynamodb"]["SequenceNumber"]: record["dynamodb"]["Keys"]["sk"]["S"] for record in event["Records"]}
        self.batches.append(list(names.values()))
        self.told.release()
        if self.broken:
            return Reply({"errorType": "X", "errorMessage": ""}, failed=True)
        failed = [{"itemIdentifier": number} for number, name in names.items() if name in self.refused]
        return Reply({"batchItemFailures": failed})


@pytest.fixture
def function() -> Function:
    return Function()


@pytest.fixture
def feed(function: Function) -> Iterator[StreamFeed]:
    moto_fixes.install()
    client.cache_clear()
    with mock_aws():
        made = client("dynamodb").create_table(**table_definition("table"))["TableDescription"]
        client("sqs").create_queue(QueueName="letters")
        pattern = {"eventName": ["INSERT"], "dynamodb": {"Keys": {"sk": {"S": [{"prefix": "NEW#"}]}}}}
        yield StreamFeed(
            {
                "FunctionName": "index",
                "EventSourceArn": made["LatestStreamArn"],
                "FilterCriteria": {"Filters": [{"Pattern": json.dumps(pattern)}]},
                "BatchSize": 3,
                "MaximumRetryAttempts": 1,
                "DestinationConfig": {"OnFailure": {"Destination": QUEUE}},
            },
            function,  # type: ignore[arg-type]
        )
    client.cache_clear()


def write(*names: str) -> None:
    for name in names:
        client("dynamodb").put_item(TableName="table", Item={"pk": {"S": "p"}, "sk": {"S": name}})


def letters() -> list[Any]:
    url = client("sqs").get_queue_url(QueueName="letters")["QueueUrl"]
    return [json.loads(one["Body"]) for one in client("sqs").receive_message(QueueUrl=url).get("Messages", [])]


def test_what_the_filter_lets_through_is_told_in_order_and_in_batches(feed: StreamFeed, function: Function) -> None:
    write("NEW#1", "OTHER", "NEW#2", "NEW#3", "NEW#4")
    assert feed.pump() == 4
    assert function.batches == [["NEW#1", "NEW#2", "NEW#3"], ["NEW#4"]]
    assert feed.pump() == 0
    write("NEW#5")
    assert feed.pump() == 1


def test_the_lowest_failure_is_where_it_goes_on(feed: StreamFeed, function: Function) -> None:
    write("NEW#1", "NEW#2", "NEW#3")
    function.refused = {"NEW#2"}
    feed.pump()
    function.refused = set()
    feed.pump()
    assert function.batches == [["NEW#1", "NEW#2", "NEW#3"], ["NEW#2", "NEW#3"]]


def test_what_fails_too_often_is_a_dead_letter_and_what_is_behind_it_goes_on(feed: StreamFeed, function: Function) -> None:
    write("NEW#1", "NEW#2")
    function.refused = {"NEW#1"}
    feed.pump()
    assert letters() == []
    feed.pump()
    assert function.batches == [["NEW#1", "NEW#2"], ["NEW#1", "NEW#2"], ["NEW#2"]]
    (letter,) = letters()
    assert letter["DDBStreamBatchInfo"]["batchSize"] == 1
    assert letter["requestContext"]["functionArn"].endswith(":index")


def test_a_function_that_fails_as_a_whole_is_told_all_again(feed: StreamFeed, function: Function) -> None:
    write("NEW#1", "NEW#2")
    function.broken = True
    feed.pump()
    function.broken = False
    feed.pump()
    assert function.batches == [["NEW#1", "NEW#2"]] * 2


def test_what_is_written_is_told_by_itself_until_the_end(feed: StreamFeed, function: Function) -> None:
    feeds = Feeds([feed])
    write("NEW#1")
    with feeds.by_themselves():
        assert function.told.acquire(timeout=PATIENCE), "what stood there before"
        write("OTHER", "NEW#2")
        assert function.told.acquire(timeout=PATIENCE)
    write("NEW#3")
    assert function.batches == [["NEW#1"], ["NEW#2"]]
    assert "stream" not in {thread.name for thread in threading.enumerate()}


class ClearedLate(threading.Event):
    """An event whose first `clear` happens only once all is said that ends the context: its two events are set."""

    clearing, sets = threading.Event(), threading.Semaphore(0)

    def set(self) -> None:
        super().set()
        self.sets.release()

    def clear(self) -> None:
        self.clearing.set()
        assert all(self.sets.acquire(timeout=PATIENCE) for _ in range(2))
        super().clear()


def test_the_word_that_it_is_over_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def used() -> None:
        with Feeds([]).by_themselves():
            assert ClearedLate.clearing.wait(PATIENCE)

    user = threading.Thread(target=used, daemon=True)
    with monkeypatch.context() as patch:
        patch.setattr(feeds_module, "threading", SimpleNamespace(Event=ClearedLate, Thread=threading.Thread))
        user.start()
        assert ClearedLate.clearing.wait(PATIENCE)
        user.join(PATIENCE / 3)
    assert not user.is_alive()


def test_what_fails_is_told_again_by_itself_though_nothing_is_written(feed: StreamFeed, function: Function) -> None:
    function.broken = True
    write("NEW#1")
    with Feeds([feed]).by_themselves():
        assert function.told.acquire(timeout=PATIENCE)
        function.broken = False
        assert function.told.acquire(timeout=PATIENCE)
    assert function.batches == [["NEW#1"]] * 2
    assert feed.pump() == 0
