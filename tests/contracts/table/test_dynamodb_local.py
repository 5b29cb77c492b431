"""The server that stands in for AWS where processes are killed."""

from __future__ import annotations

from pathlib import Path

from hibernaut.adapters.table.definition import table_definition
from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.ports.storage.table import Put
from tests.support.dynamodb_local import DynamoDbLocal, require


def test_a_killed_server_has_at_most_forgotten_its_last_transaction_and_tears_none(tmp_path: Path) -> None:
    """It answers a moment before it commits, so tests kill the processes that talk to it rather than the server."""
    require()
    server = DynamoDbLocal(tmp_path)
    server.start()
    table = server.new_table()
    for number in range(10):
        table.write(Put({"pk": "T#a", "sk": f"{number}"}), Put({"pk": "T#b", "sk": f"{number}"}))
    server.kill()
    server.start()
    first, second = ([item["sk"] for item in table.query(pk)] for pk in ("T#a", "T#b"))
    assert first == second == [f"{number}" for number in range(len(first))]
    assert len(first) in (9, 10)
    server.close()


def test_the_table_is_made_as_it_is_defined(dynamodb_local: DynamoDbLocal) -> None:
    assert isinstance(dynamodb_local.new_table(), DynamoDbTable)
    name = dynamodb_local.client().list_tables()["TableNames"][-1]
    made = dynamodb_local.client().describe_table(TableName=name)["Table"]
    wanted = table_definition(name)
    assert made["KeySchema"] == wanted["KeySchema"]
    assert made["StreamSpecification"] == wanted["StreamSpecification"]
    assert made["BillingModeSummary"]["BillingMode"] == wanted["BillingMode"]
    indexes = {index["IndexName"]: (index["KeySchema"], index["Projection"]) for index in made["GlobalSecondaryIndexes"]}
    assert indexes == {
        index["IndexName"]: (index["KeySchema"], index["Projection"]) for index in wanted["GlobalSecondaryIndexes"]
    }
    ttl = dynamodb_local.client().describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "ttl")
