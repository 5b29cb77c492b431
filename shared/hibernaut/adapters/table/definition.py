"""The only definition of the table for DynamoDB: for tests, for AWS in one process, and for comparison with the synthesized
stack.

Knows: key schema, indexes, stream, ttl. Must not know: any client library, or the infrastructure's code.
"""

from __future__ import annotations

from typing import Any

from hibernaut.ports.storage.table import Index

TTL_ATTRIBUTE = "ttl"


def table_definition(name: str) -> dict[str, Any]:
    """The request of CreateTable: on demand, two sparse keys-only indexes, a stream of old and new images."""
    texts = ["pk", "sk", *(f"{index}_{part}" for index in Index for part in ("pk", "sk"))]
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": text, "AttributeType": "S"} for text in texts],
        "KeySchema": _key_schema(""),
        "GlobalSecondaryIndexes": [
            {"IndexName": index_name(index), "KeySchema": _key_schema(f"{index}_"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
            for index in Index
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def index_name(index: Index) -> str:
    """What DynamoDB calls the index (a name has at least three characters there)."""
    return f"by_{index}"


def _key_schema(prefix: str) -> list[dict[str, str]]:
    return [{"AttributeName": f"{prefix}pk", "KeyType": "HASH"}, {"AttributeName": f"{prefix}sk", "KeyType": "RANGE"}]
