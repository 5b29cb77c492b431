"""How a stream of several shards is read: parents first, each to its end, and on from a cursor."""

# ruff: noqa: ARG002, N803 (the double has the parameters of AWS's client)

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from hibernaut.adapters.table.dynamodb_stream import read_stream
from hibernaut.ports.storage.table import Record


@dataclass
class Shard:
    """Pages of sequence numbers. A closed one ends, an open one goes on with empty pages."""

    pages: list[list[int]]
    parent: str | None = None
    closed: bool = True
    forgotten: set[int] = field(default_factory=set)


class Shards:
    """A stream in the form of DynamoDB Streams' client; it describes one shard to a page."""

    def __init__(self, **shards: Shard) -> None:
        self.shards = shards

    def describe_stream(self, *, StreamArn: str, ExclusiveStartShardId: str | None = None) -> Any:
        names = list(self.shards)
        here = names[names.index(ExclusiveStartShardId) + 1 if ExclusiveStartShardId else 0]
        shard = self.shards[here]
        described: dict[str, Any] = {"ShardId": here, "SequenceNumberRange": {"StartingSequenceNumber": "0"}}
        described |= {"ParentShardId": shard.parent} if shard.parent else {}
        if shard.closed:
            described["SequenceNumberRange"]["EndingSequenceNumber"] = "999"
        return {"StreamDescription": {"Shards": [described], **({"LastEvaluatedShardId": here} if here != names[-1] else {})}}

    def get_shard_iterator(self, *, StreamArn: str, ShardId: str, ShardIteratorType: str, SequenceNumber: str = "-1") -> Any:
        if int(SequenceNumber) in self.shards[ShardId].forgotten:
            raise ClientError({"Error": {"Code": "TrimmedDataAccessException", "Message": "too old"}}, "GetShardIterator")
        return {"ShardIterator": f"{ShardId}/{SequenceNumber}/0"}

    def get_records(self, *, ShardIterator: str, Limit: int) -> Any:
        name, after, page = ShardIterator.split("/")
        shard, number = self.shards[name], int(page)
        numbers = [found for found in (shard.pages[number] if number < len(shard.pages) else []) if found > int(after)]
        more = not shard.closed or number + 1 < len(shard.pages)
        return {
            "Records": [_told(found) for found in numbers],
            **({"NextShardIterator": f"{name}/{after}/{number + 1}"} if more else {}),
        }


def _told(number: int) -> dict[str, Any]:
    keys = {"pk": {"S": "T#a"}, "sk": {"S": str(number)}}
    return {"dynamodb": {"SequenceNumber": str(number), "Keys": keys, "NewImage": keys}}


def numbers(records: list[Record]) -> list[int]:
    return [int(record.key.sk) for record in records]


def read(shards: Shards, after: str | None = None, limit: int = 1000) -> list[Record]:
    return read_stream(shards, "arn", after, limit)


def test_a_child_is_read_after_its_parent() -> None:
    shards = Shards(
        grandchild=Shard([[7]], parent="child", closed=False), child=Shard([[3], [4]], parent="root"), root=Shard([[1], [2]])
    )
    assert numbers(read(shards)) == [1, 2, 3, 4, 7]


def test_a_parent_that_the_stream_has_forgotten_holds_nobody_up() -> None:
    assert numbers(read(Shards(child=Shard([[3]], parent="gone")))) == [3]


def test_a_closed_shard_is_read_over_empty_pages_and_an_open_one_up_to_one() -> None:
    assert numbers(read(Shards(one=Shard([[1], [], [2]])))) == [1, 2]
    assert numbers(read(Shards(one=Shard([[1], []], closed=False)))) == [1]


def test_reading_goes_on_from_any_record_s_cursor() -> None:
    shards = Shards(
        root=Shard([[1, 2], [3]]), left=Shard([[4]], parent="root"), right=Shard([[5, 6]], parent="root", closed=False)
    )
    everything = read(shards)
    for place, record in enumerate(everything):
        assert numbers(read(shards, record.cursor)) == numbers(everything[place + 1 :])
    assert numbers(read(shards, limit=2)) == [1, 2]
    assert numbers(read(shards, everything[1].cursor, limit=2)) == [3, 4]


def test_what_is_told_later_follows_the_cursor() -> None:
    shards = Shards(root=Shard([[1]], closed=False))
    cursor = read(shards)[-1].cursor
    assert read(shards, cursor) == []
    shards.shards["root"] = Shard([[1, 2]])
    shards.shards["child"] = Shard([[3]], parent="root", closed=False)
    assert numbers(read(shards, cursor)) == [2, 3]


def test_a_cursor_that_the_stream_has_forgotten_goes_on_with_what_is_left() -> None:
    root = Shard([[1], [2]])
    cursor = read(Shards(root=root), limit=1)[-1].cursor
    root.pages, root.forgotten = [[2]], {1}
    assert numbers(read(Shards(root=root), cursor)) == [2]
    left = read(Shards(other=Shard([[5]])), cursor)
    assert numbers(left) == [5]
    assert "root" not in left[-1].cursor
