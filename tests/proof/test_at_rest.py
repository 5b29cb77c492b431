"""The copies of a table that verdicts read answer as the table itself."""

from __future__ import annotations

import boto3
import pytest
from moto import mock_aws

from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.local.aws_offline.moto.fixes import install
from hibernaut.ports.storage.table import Index, Item, Key, Put, Query, Table
from tests.proof.at_rest import CopiedTable, copied
from tests.support.created_tables import create_table
from tests.support.moto_tables import items_of

ITEMS: list[Item] = [
    *({"pk": "a", "sk": f"LOG#{number}", "text": f"row {number}"} for number in range(4)),
    {"pk": "a", "sk": "RUN#1", "due_pk": "DUE", "due_sk": "2#x", "list_pk": "all", "list_sk": "1", "n": 7, "ttl": 5_000_000_000},
    {"pk": "a", "sk": "RUN#2", "due_pk": "DUE", "due_sk": "1#y", "flag": True},
    {"pk": "b", "sk": "ONLY", "text": "another partition"},
]
QUERIES = [
    Query("a"),
    Query("a", prefix="LOG#"),
    Query("a", prefix="LOG#", after="LOG#0", before="LOG#3"),
    Query("a", limit=2, descending=True),
    Query("a", prefix="LOG#", names=("text",)),
    Query("a", limit=0),
    Query("a", after="z", before="b"),
    Query("DUE", index=Index.DUE),
    Query("DUE", index=Index.DUE, before="2"),
    Query("all", index=Index.LISTS),
    Query("nobody"),
]


def check_same(copy: CopiedTable, table: Table) -> None:
    """Checks that both answer each read alike."""
    for one in QUERIES:
        assert one.run(copy.query) == one.run(table.query), one
    assert copy.query_many(QUERIES) == table.query_many(QUERIES)
    wanted = [Key("a", "LOG#1"), Key("b", "ONLY"), Key("a", "none")]
    assert copy.get_many(wanted) == table.get_many(wanted)
    assert [copy.get(key) for key in wanted] == [table.get(key) for key in wanted]
    assert copy.count("a", having="due_pk") == table.count("a", having="due_pk") == 2


def test_a_copy_of_a_table_in_dynamodb_answers_as_the_table() -> None:
    install()
    with mock_aws():
        client = boto3.client("dynamodb")
        create_table(client, "copied")
        table = DynamoDbTable("copied", client=client)
        for item in ITEMS:
            table.write(Put(item))
        check_same(copied(client, "copied"), table)
        check_same(CopiedTable(items_of("copied")), table)
        client.close()


def test_a_verdict_that_writes_fails() -> None:
    with pytest.raises(AssertionError, match="a verdict writes"):
        CopiedTable(ITEMS).write(Put(ITEMS[0]))
