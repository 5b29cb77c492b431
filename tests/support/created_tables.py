"""Makes the server's table in an emulator of DynamoDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hibernaut.adapters.table.definition import TTL_ATTRIBUTE, table_definition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def create_table(client: DynamoDBClient, name: str, *, stream: bool = True) -> None:
    """Make the table, which an emulator has ready at once. `stream`: it has its stream."""
    definition = table_definition(name)
    if not stream:
        del definition["StreamSpecification"]
    client.create_table(**definition)
    client.update_time_to_live(TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": TTL_ATTRIBUTE})
