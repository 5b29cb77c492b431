"""The engines and the doubles, each as an empty table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hibernaut.adapters.table.dynamodb import DynamoDbTable, one_attempt
from hibernaut.adapters.table.dynamodb_stream import ChangeRecord
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.local.aws_offline.moto.fixes import install
from hibernaut.ports.storage.table import Table
from tests.support.change_streams import changes_of
from tests.support.created_tables import create_table
from tests.support.dynamodb_local import DynamoDbLocal, dynamodb_local
from tests.support.tables import CountingTable, LosesResponses, RevealsSlowly

__all__ = ["dynamodb_local"]

ENGINES = ("sqlite", "moto", "dynamodb_local")
DOUBLES: dict[str, Callable[[Table], Table]] = {
    "counting": lambda table: CountingTable(table, lambda _number, _kind: None),
    "losing": lambda table: LosesResponses(table),
    "revealing": lambda table: RevealsSlowly(table),
}


@pytest.fixture(scope="module")
def new_moto_table() -> Iterator[Callable[[], Table]]:
    """Makes empty tables in moto, fixed."""
    import boto3
    from moto import mock_aws

    install()
    numbers = itertools.count(1)
    with mock_aws():
        client = boto3.client("dynamodb", config=one_attempt())

        def make() -> Table:
            name = f"table-{next(numbers)}"
            create_table(client, name)
            return DynamoDbTable(name, client=client)

        yield make
        client.close()


@pytest.fixture(params=[*ENGINES, *DOUBLES])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Table]:
    if request.param == "moto":
        yield request.getfixturevalue("new_moto_table")()
        return
    if request.param == "dynamodb_local":
        server: DynamoDbLocal = request.getfixturevalue("dynamodb_local")
        yield server.new_table()
        return
    sqlite = SqliteTable(tmp_path / "table.db")
    yield DOUBLES[request.param](sqlite) if request.param in DOUBLES else sqlite
    sqlite.close()


@dataclass(frozen=True)
class Streamed:
    """A table with a change stream. `changes` reads the stream from its beginning."""

    table: Table
    changes: Callable[[], list[ChangeRecord]]


@pytest.fixture(params=["moto", "dynamodb_local"])
def streamed(request: pytest.FixtureRequest) -> Iterator[Streamed]:
    if request.param == "dynamodb_local":
        server: DynamoDbLocal = request.getfixturevalue("dynamodb_local")
        dynamodb, streams, table = server.client(), server.client("dynamodbstreams"), server.new_table()
    else:
        import boto3

        table = request.getfixturevalue("new_moto_table")()
        dynamodb, streams = (boto3.client(service, config=one_attempt()) for service in ("dynamodb", "dynamodbstreams"))
    yield Streamed(table, lambda: changes_of(dynamodb, streams, table._name))
    if request.param == "moto":
        dynamodb.close()
        streams.close()
