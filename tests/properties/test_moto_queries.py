"""A query of an index always finds what a scan of moto's table finds, whatever was written, changed, deleted or rolled back
before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws

from hibernaut.local.aws_offline.moto import fixes as moto_fixes

KEYS = st.sampled_from("abc")
VALUES = st.sampled_from(["x", "y", None])
"""The place of an item in the index; None: it has none."""
WRITES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, VALUES),
        st.tuples(st.just("update"), KEYS, VALUES),
        st.tuples(st.just("delete"), KEYS, st.none()),
        st.tuples(st.just("together"), KEYS, VALUES),
        st.tuples(st.just("failed"), KEYS, VALUES),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[Any]:
    with mock_aws():
        moto_fixes.install()
        yield boto3.client("dynamodb", region_name="eu-central-1")


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"S": name}}


def item(name: str, value: str | None) -> dict[str, Any]:
    return key(name) | ({"place": {"S": value}, "order": {"S": name}} if value else {})


def change(name: str, value: str | None) -> dict[str, Any]:
    if value is None:
        return {"Key": key(name), "UpdateExpression": "REMOVE place"}
    values = {":v": {"S": value}, ":o": {"S": name}}
    return {
        "Key": key(name),
        "UpdateExpression": "SET place = :v, #o = :o",
        "ExpressionAttributeNames": {"#o": "order"},
        "ExpressionAttributeValues": values,
    }


def write(client: Any, table: str, kind: str, name: str, value: str | None) -> None:
    match kind:
        case "put":
            client.put_item(TableName=table, Item=item(name, value))
        case "update":
            client.update_item(TableName=table, **change(name, value))
        case "delete":
            client.delete_item(TableName=table, Key=key(name))
        case _:
            changes = [{"Update": {"TableName": table, **change(name, value)}}]
            other = {"Put": {"TableName": table, "Item": item("other", value)}}
            never = {"ConditionCheck": {"TableName": table, "Key": key("nobody"), "ConditionExpression": "attribute_exists(pk)"}}
            with suppress(ClientError):
                client.transact_write_items(TransactItems=[*changes, other, *([never] if kind == "failed" else [])])


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    return iter(range(1_000_000))


@settings(max_examples=40)  # each of some six writes, after each of which both indices are compared
@given(writes=WRITES)
def test_a_query_of_an_index_finds_what_a_scan_finds(dynamodb: Any, numbers: Iterator[int], writes: list[Any]) -> None:
    table = f"table-{next(numbers)}"
    texts = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "place", "order")]
    schema = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    index = [{"AttributeName": "place", "KeyType": "HASH"}, {"AttributeName": "order", "KeyType": "RANGE"}]
    places = [{"IndexName": "PLACES", "KeySchema": index, "Projection": {"ProjectionType": "ALL"}}]
    dynamodb.create_table(
        TableName=table,
        AttributeDefinitions=texts,
        KeySchema=schema,
        GlobalSecondaryIndexes=places,
        BillingMode="PAY_PER_REQUEST",
    )
    for kind, name, value in writes:
        write(dynamodb, table, kind, name, value)
        scanned = dynamodb.scan(TableName=table)["Items"]
        for place in ("x", "y"):
            asked = {"KeyConditionExpression": "place = :p", "ExpressionAttributeValues": {":p": {"S": place}}}
            found = dynamodb.query(TableName=table, IndexName="PLACES", **asked)["Items"]
            wanted = [one for one in scanned if one.get("place") == {"S": place} and "order" in one]
            assert found == sorted(wanted, key=lambda one: one["order"]["S"])
    dynamodb.delete_table(TableName=table)
