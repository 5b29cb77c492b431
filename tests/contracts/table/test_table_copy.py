"""The copy of a table, on DynamoDB Local: every item as it is stored, resumed where it was interrupted, and proven."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from hibernaut.local.restoring import table_copy
from hibernaut.local.restoring.table_copy import STATE_KEY, CopyFailed, TableCopy, WireItem
from tests.support.created_tables import create_table
from tests.support.dynamodb_local import DynamoDbLocal

NAMES = itertools.count(1)
ITEMS: list[dict[str, Any]] = [
    *({"pk": {"S": f"t#A#{number % 7}"}, "sk": {"S": f"{number:04}"}, "body": {"S": "x" * number}} for number in range(400)),
    {
        "pk": {"S": "t#B"},
        "sk": {"S": "ä\U0001f40e"},
        "n": {"N": "12345678901234567890"},
        "b": {"B": b"\x00\xff"},
        "yes": {"BOOL": True},
    },
    {"pk": {"S": "APIKEY#1"}, "sk": {"S": "APIKEY"}},
    {"pk": {"S": "large"}, "sk": {"S": "1"}, "body": {"S": "y" * 390_000}},
    {"pk": {"S": "large"}, "sk": {"S": "2"}, "body": {"S": "z" * 390_000}},
    {"pk": {"S": "large"}, "sk": {"S": "3"}, "body": {"S": "z" * 390_000}},
]


class Quiet:
    """A report that nobody reads."""

    def line(self, text: str) -> None: ...

    def share(self, done: int, of: int) -> None:
        assert done <= of or not of

    def end(self) -> None: ...


class Breaking:
    """A client whose writes fail after `left` of them."""

    def __init__(self, client: Any, left: int) -> None:
        self._client, self.left, self.written = client, left, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def batch_write_item(self, RequestItems: dict[str, list[Any]]) -> Any:  # noqa: N803  AWS's name
        if self.left == 0:
            raise ConnectionError
        self.left -= 1
        ((table, requests),) = RequestItems.items()
        self.written += len(requests)
        if len(requests) > 1:  # DynamoDB may leave some of them.
            answer = self._client.batch_write_item(RequestItems={table: requests[:-1]})
            assert not answer["UnprocessedItems"]
            return {"UnprocessedItems": {table: requests[-1:]}}
        return self._client.batch_write_item(RequestItems=RequestItems)


@pytest.fixture
def tables(dynamodb_local: DynamoDbLocal) -> Iterator[tuple[Any, str, str]]:
    client = dynamodb_local.client("dynamodb")
    source, target = (f"copy-{next(NAMES)}" for _ in range(2))
    for name in (source, target):
        create_table(client, name)
    for item in ITEMS:
        client.put_item(TableName=source, Item=item)
    yield client, source, target
    for name in (source, target):
        client.delete_table(TableName=name)


def everything(client: Any, table: str) -> list[WireItem]:
    pages = client.get_paginator("scan").paginate(TableName=table)
    return sorted((item for page in pages for item in page["Items"]), key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


def copying(client: Any, source: str, target: str, *, keys: bool = True) -> TableCopy:
    return TableCopy(client, source, target, includes=lambda item: keys or item["pk"]["S"] != "APIKEY#1", wait=lambda _: None)


def test_a_copy_is_resumed_behind_what_it_wrote_and_equal_at_the_end(
    tables: tuple[Any, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_copy, "PAGE", 20)
    client, source, target = tables
    breaking = Breaking(client, 20)
    copy = copying(breaking, source, target)
    assert not copy.has_data()
    copy.remember(source=source, stage="copy")
    with pytest.raises(ConnectionError):
        copy.copy(Quiet())
    assert any(name.startswith("segment_") for name in copy.state())
    with pytest.raises(CopyFailed, match="were to be copied"):
        copy.verify()
    before, breaking.left = breaking.written, 10_000
    copying(breaking, source, target).copy(Quiet())
    assert breaking.written - before < len(ITEMS) * 2  # each item once, and those that DynamoDB left once more
    assert copy.verify().items == len(ITEMS)
    copy.forget()
    assert everything(client, target) == everything(client, source)


def test_a_target_is_emptied_and_what_changes_meanwhile_is_noticed(tables: tuple[Any, str, str]) -> None:
    client, source, target = tables
    client.put_item(TableName=target, Item={"pk": {"S": "COLLECTION"}, "sk": {"S": "BLOBS"}})
    copy = copying(client, source, target, keys=False)
    assert not copy.has_data()
    for number in range(60):
        client.put_item(TableName=target, Item={"pk": {"S": "t#old"}, "sk": {"S": str(number)}})
    assert copy.has_data()
    copy.remember(source=source, stage="empty")
    copy.empty(Quiet())
    assert [item["pk"] for item in everything(client, target)] == [STATE_KEY["pk"]]
    copy.copy(Quiet())
    assert copy.verify().items == len(ITEMS) - 1
    client.put_item(TableName=target, Item={**ITEMS[0], "body": {"S": "changed"}})
    with pytest.raises(CopyFailed, match="some of them differ"):
        copy.verify()
    copy.begin_again()
    assert (copy.state()["stage"], copy.state()["segment_0"]) == ("empty", "")
    copy.empty(Quiet())
    copy.copy(Quiet())
    assert copy.verify().items == len(ITEMS) - 1
