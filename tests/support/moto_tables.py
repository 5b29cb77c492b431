"""The tables that moto holds in this process, for tests that delete what nobody reads any more: moto searches a whole table for
each query of an index.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hibernaut.adapters.table.dynamodb_requests import plain_item
from hibernaut.local.aws_offline.moto.dynamodb import forget_values
from hibernaut.ports.storage.table import Item


def tables() -> Iterator[Any]:
    """The tables of all accounts and regions, as moto's own objects."""
    from moto.dynamodb.models import dynamodb_backends

    for account in dynamodb_backends.values():
        for backend in account.values():
            yield from backend.tables.values()


def items_of(name: str) -> Iterator[Item]:
    """All items of the tables with this name, without a request."""
    for table in tables():
        if table.name == name:
            for partition in list(table.items.values()):
                yield from (plain_item(item.to_json()["Attributes"]) for item in list(partition.values()))


def forget_tenant(tenant: str) -> None:
    """Delete the items of a tenant. The change stream does not tell of it."""
    for table in tables():
        for partition in [name for name in table.items if name.value.startswith(f"{tenant}#")]:
            del table.items[partition]
        forget_values(table)


def forget_all() -> None:
    """Delete all items of all tables. The change stream does not tell of it."""
    for table in tables():
        table.items.clear()
        forget_values(table)
