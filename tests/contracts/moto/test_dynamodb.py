"""DynamoDB in moto, where the table's own contract suite does not look."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import moto
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends
from moto.dynamodb.models.table import Table
from moto.dynamodb.parsing.tokens import ExpressionTokenizer

from hibernaut.local.aws_offline.moto.fixes import MOTO_VERSION, install
from tests.support.created_tables import create_table

KEY = {"pk": {"S": "T#a"}, "sk": {"S": "1"}}


@pytest.fixture
def dynamodb() -> Iterator[Any]:
    install()
    with mock_aws():
        client = boto3.client("dynamodb")
        create_table(client, "records")
        yield client
        client.close()


def added(count: int) -> dict[str, Any]:
    names = {"#n": "n"}
    values = {":v": {"N": str(count)}}
    return {"TableName": "records", "Key": KEY, "ExpressionAttributeNames": names, "ExpressionAttributeValues": values}


def beginning(dynamodb: Any, streams: Any) -> str:
    """The iterator for the beginning of the table's change stream."""
    arn = dynamodb.describe_table(TableName="records")["Table"]["LatestStreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    return str(streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"])


def test_the_fixes_are_written_for_the_version_that_is_installed() -> None:
    assert moto.__version__ == MOTO_VERSION


def test_installing_twice_replaces_the_replacements(dynamodb: Any) -> None:
    backend: Any = DynamoDBBackend
    originals = backend.put_item.__hibernaut_original__, backend.query.__hibernaut_original__
    install()
    assert all(not hasattr(original, "__hibernaut_original__") for original in originals)
    dynamodb.update_item(**added(1), UpdateExpression="ADD #n :v")
    assert dynamodb.get_item(TableName="records", Key=KEY)["Item"]["n"] == {"N": "1"}


class Untouched(dict[Any, Any]):
    """A partition that no query of another one reads."""

    def values(self) -> Any:
        raise AssertionError("a query of another partition reads this one")


def test_a_query_reads_its_own_partition_alone(dynamodb: Any) -> None:
    for sort in ("2", "1"):
        dynamodb.put_item(TableName="records", Item={**KEY, "sk": {"S": sort}})
    (backend,) = (one for account in dynamodb_backends.values() for one in account.values() if "records" in one.tables)
    backend.tables["records"].items["another"] = Untouched()
    found = dynamodb.query(
        TableName="records", KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": {"S": KEY["pk"]["S"]}}
    )
    assert [item["sk"]["S"] for item in found["Items"]] == ["1", "2"]


def test_a_token_that_comes_again_does_its_transaction_once(dynamodb: Any) -> None:
    for _ in range(3):
        dynamodb.transact_write_items(
            ClientRequestToken="t", TransactItems=[{"Update": {**added(1), "UpdateExpression": "ADD #n :v"}}]
        )
    assert dynamodb.get_item(TableName="records", Key=KEY)["Item"]["n"] == {"N": "1"}


def test_a_token_of_another_transaction_is_refused(dynamodb: Any) -> None:
    dynamodb.transact_write_items(ClientRequestToken="t", TransactItems=[{"Put": {"TableName": "records", "Item": KEY}}])
    with pytest.raises(ClientError) as failure:
        dynamodb.transact_write_items(ClientRequestToken="t", TransactItems=[{"Delete": {"TableName": "records", "Key": KEY}}])
    assert failure.value.response["Error"]["Code"] == "IdempotentParameterMismatchException"
    assert "Item" in dynamodb.get_item(TableName="records", Key=KEY)


def test_a_failed_transaction_leaves_the_table_itself_in_place(dynamodb: Any) -> None:
    region = dynamodb.meta.region_name
    table = dynamodb_backends["123456789012"][region].tables["records"]
    failing = {"TableName": "records", "Key": KEY, "ConditionExpression": "attribute_exists(pk)"}
    other = {**KEY, "sk": {"S": "2"}}
    with pytest.raises(ClientError):
        dynamodb.transact_write_items(
            TransactItems=[{"Put": {"TableName": "records", "Item": other}}, {"ConditionCheck": failing}]
        )
    assert dynamodb_backends["123456789012"][region].tables["records"] is table
    assert dynamodb.scan(TableName="records")["Items"] == []


def test_a_batch_is_told_by_the_stream_item_by_item(dynamodb: Any) -> None:
    puts = [{"PutRequest": {"Item": {**KEY, "sk": {"S": str(number)}}}} for number in range(3)]
    dynamodb.batch_write_item(RequestItems={"records": puts})
    dynamodb.batch_write_item(RequestItems={"records": puts[:1]})
    # An account's id in the credentials moves the endpoint, but for the setting that `install` makes.
    streams = boto3.client("dynamodbstreams", aws_account_id="123456789012")
    iterator = beginning(dynamodb, streams)
    assert [record["eventName"] for record in streams.get_records(ShardIterator=iterator)["Records"]] == ["INSERT"] * 3
    streams.close()


def test_nobody_reads_in_the_middle_of_a_write(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put, seen = Table.put_item, []

    def put_while_somebody_reads(table: Any, *args: Any, **kwargs: Any) -> Any:
        reader = threading.Thread(target=lambda: seen.append(dynamodb.get_item(TableName="records", Key=KEY).get("Item")))
        reader.start()
        # Long enough for any reader that does not wait for the write; one that waits is still there afterwards.
        reader.join(0.3)
        waited.append(reader)
        return put(table, *args, **kwargs)

    waited: list[threading.Thread] = []
    monkeypatch.setattr(Table, "put_item", put_while_somebody_reads)
    dynamodb.put_item(TableName="records", Item=KEY)
    waited[0].join()
    assert seen == [KEY]


def test_nobody_reads_the_stream_in_the_middle_of_a_write(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = boto3.client("dynamodbstreams")
    iterator = beginning(dynamodb, streams)
    put, seen, waited = Table.put_item, list[Any](), list[threading.Thread]()

    def put_while_somebody_reads(table: Any, *args: Any, **kwargs: Any) -> Any:
        done = put(table, *args, **kwargs)
        reader = threading.Thread(target=lambda: seen.append(streams.get_records(ShardIterator=iterator)["Records"]))
        reader.start()
        # Long enough for any reader that does not wait for the write, which is undone when its other half fails.
        reader.join(0.3)
        waited.append(reader)
        return done

    monkeypatch.setattr(Table, "put_item", put_while_somebody_reads)
    failing = {"TableName": "records", "Key": {**KEY, "sk": {"S": "2"}}, "ConditionExpression": "attribute_exists(pk)"}
    with pytest.raises(ClientError):
        dynamodb.transact_write_items(TransactItems=[{"Put": {"TableName": "records", "Item": KEY}}, {"ConditionCheck": failing}])
    waited[0].join()
    assert seen == [[]]
    streams.close()


def test_every_kind_of_value_comes_back_as_it_was_put(dynamodb: Any) -> None:
    values: dict[str, Any] = {
        "bytes": {"B": b"\x00\xff"},
        "many_bytes": {"BS": [b"a", b"b"]},
        "texts": {"SS": ["a", "é"]},
        "numbers": {"NS": ["1", "2.5"]},
        "map": {"M": {"list": {"L": [{"N": "1"}, {"NULL": True}, {"BOOL": False}, {"M": {"deep": {"B": b"x"}}}]}}},
    }
    dynamodb.put_item(TableName="records", Item={**KEY, **values})
    asked = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": KEY["pk"]}}
    with closing(boto3.client("dynamodbstreams")) as streams:
        change = streams.get_records(ShardIterator=beginning(dynamodb, streams))["Records"][0]["dynamodb"]
    assert (change["Keys"], abs(datetime.now(UTC) - change["ApproximateCreationDateTime"]) < timedelta(minutes=1)) == (KEY, True)
    for found in (
        dynamodb.get_item(TableName="records", Key=KEY)["Item"],
        dynamodb.query(TableName="records", **asked)["Items"][0],
        change["NewImage"],
    ):
        assert {
            name: {kind: sorted(value) if kind in ("SS", "NS", "BS") else value for kind, value in found[name].items()}
            for name in values
        } == values
    counted = dynamodb.query(TableName="records", Select="COUNT", **asked)
    assert (counted["Count"], "Items" in counted) == (1, False)
    assert "Item" not in dynamodb.get_item(TableName="records", Key={**KEY, "sk": {"S": "none"}})


TOLD = {"ReturnConsumedCapacity": "TOTAL"}


def item(sk: str, kilobytes: float = 0.1, **attributes: str) -> dict[str, Any]:
    """An item somewhat below this size."""
    text = {"text": {"S": "x" * int(1024 * kilobytes - 60)}}
    return {"pk": {"S": "T#a"}, "sk": {"S": sk}, **text, **{name: {"S": value} for name, value in attributes.items()}}


def units(answer: Any) -> float:
    told = answer["ConsumedCapacity"]
    return sum(one["CapacityUnits"] for one in (told if isinstance(told, list) else [told]))


def put(dynamodb: Any, **request: Any) -> float:
    return units(dynamodb.put_item(TableName="records", **request, **TOLD))


def test_a_write_takes_a_unit_for_each_kilobyte_of_the_larger_item_and_one_for_each_entry_of_an_index(dynamodb: Any) -> None:
    assert put(dynamodb, Item=item("1")) == 1
    assert put(dynamodb, Item=item("1", 2.5)) == 3
    assert put(dynamodb, Item=item("1")) == 3
    assert put(dynamodb, Item=item("2", due_pk="DUE#00", due_sk="1")) == 2
    assert put(dynamodb, Item=item("2", due_pk="DUE#00", due_sk="2")) == 3
    assert put(dynamodb, Item=item("2", due_pk="DUE#00", due_sk="2")) == 1
    assert units(dynamodb.delete_item(TableName="records", Key={**KEY, "sk": {"S": "2"}}, **TOLD)) == 2


def test_a_transaction_takes_twice_the_units_of_its_items_but_not_of_indexes(dynamodb: Any) -> None:
    puts = [{"Put": {"TableName": "records", "Item": one}} for one in (item("1", 1.5), item("2", due_pk="DUE#00", due_sk="1"))]
    check = {
        "ConditionCheck": {
            "TableName": "records",
            "Key": {**KEY, "sk": {"S": "3"}},
            "ConditionExpression": "attribute_not_exists(pk)",
        }
    }
    answer = dynamodb.transact_write_items(TransactItems=[*puts, check], **TOLD)
    assert units(answer) == 2 * 2 + (2 * 1 + 1) + 2


def test_a_read_takes_a_unit_for_four_kilobytes_and_a_read_of_an_index_half_of_that(dynamodb: Any) -> None:
    for number in range(5):
        put(dynamodb, Item=item(str(number), 1.5, due_pk="DUE#00", due_sk=str(number)))
    whole = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "T#a"}}, "TableName": "records"}
    assert units(dynamodb.query(**whole, ConsistentRead=True, **TOLD)) == 2
    assert units(dynamodb.query(**whole, ConsistentRead=True, ProjectionExpression="pk, sk", **TOLD)) == 2
    due = {"IndexName": "by_due", "KeyConditionExpression": "due_pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "DUE#00"}}}
    assert units(dynamodb.query(TableName="records", **due, **TOLD)) == 0.5
    assert units(dynamodb.get_item(TableName="records", Key={**KEY, "sk": {"S": "9"}}, ConsistentRead=True, **TOLD)) == 1
    keys = [{**KEY, "sk": {"S": str(number)}} for number in (0, 1, 8, 9)]
    assert units(dynamodb.batch_get_item(RequestItems={"records": {"Keys": keys, "ConsistentRead": True}}, **TOLD)) == 4


def test_an_update_expression_is_parsed_once_and_its_tree_stays_as_it_was(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    tokens_of = ExpressionTokenizer.make_list
    monkeypatch.setattr(ExpressionTokenizer, "make_list", lambda text: parsed.append(text) or tokens_of(text))
    told = []
    for count in (2, 5):
        dynamodb.update_item(**added(count), UpdateExpression="SET #n = if_not_exists(#n, :v) + :v")
        told.append(dynamodb.get_item(TableName="records", Key=KEY)["Item"]["n"]["N"])
    assert told == ["4", "9"]
    assert len(parsed) == 1


@pytest.mark.parametrize(
    "expression",
    ["SET #n = :v, #n = :v", "SET #n = :other", "SET pk = :v", "SET #n = #none + :v", "ADD #n", "SET #n = :v SET #n = :v"],
)
def test_expressions_that_dynamodb_refuses_are_refused(dynamodb: Any, expression: str) -> None:
    for _ in range(2):
        with pytest.raises(ClientError, match="ValidationException"):
            dynamodb.update_item(**added(1), UpdateExpression=expression)
    assert "Item" not in dynamodb.get_item(TableName="records", Key=KEY)
