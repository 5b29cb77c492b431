"""What an operator asks of the records of a deployment or of a data folder, without changing any: the command
`hibernaut doctor`.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.schemas.access.scope import Scope
from hibernaut.store.runs.runs import ALL
from hibernaut.store.stores import Stores
from hibernaut.store.table import keys
from hibernaut.wiring.data_folder import BLOBS, TABLE

PAGE = 25


class OpenRun(NamedTuple):
    """A run that has not ended."""

    tenant: str
    id: str
    created_at: datetime
    steps: int
    status: str


class Inspection:
    """Reads the records of all tenants. Raises: StoreUnavailable, TableError."""

    def __init__(self, stores: Stores, now: datetime) -> None:
        self._stores = stores
        self._now = now

    def tenants(self) -> list[str]:
        """The names of all tenants."""
        return list(self._stores.api_keys.tenants())

    def oldest_open_runs(self) -> list[OpenRun]:
        """The oldest open run of each tenant that has one."""
        found = []
        for tenant in self.tenants():
            state = next(self._stores.of(tenant).runs.walk_open(ALL, first=1), None)
            if state is not None:
                run = state.run
                found.append(OpenRun(tenant, run.id, run.created_at, run.steps, run.status.value))
        return found

    def overdue_ms(self) -> int:
        """For how many milliseconds the item waits that has been due longest; 0: nothing is due."""
        now_ms = int(self._now.timestamp() * 1000)
        page = next(self._stores.due.pages(now_ms, 1), [])
        return max((now_ms - item.due_ms for items in page for item in items), default=0)

    def usable_keys(self) -> dict[str, int]:
        """The number of usable API keys by scope."""
        found = dict.fromkeys((scope.value for scope in Scope), 0)
        for tenant in self.tenants():
            after = None
            while page := self._stores.api_keys.page(tenant, after=after, limit=PAGE):
                for key in page:
                    found[key.scope] += key.usable(self._now)
                after = page[-1].id
        return found

    def waiting_pointers(self) -> int:
        """The number of pointers that the index has still to take in."""
        return sum(self._stores.of(tenant).search_outbox.waiting() for tenant in self.tenants())

    def unfinished(self) -> int:
        """The number of open runs, files in ingestion, approvals and deletions."""
        return len([key for key in self._stores.due.unfinished() if key.sk != keys.GONE])


def inspection_of_stack(table: str, bucket: str) -> Inspection:
    """Of a deployed stack, with the user's AWS credentials."""
    from hibernaut.adapters.blobs.s3 import S3Blobs
    from hibernaut.adapters.table.dynamodb import DynamoDbTable

    clock = SystemClock()
    return Inspection(Stores(DynamoDbTable(table), S3Blobs(bucket), clock), clock.now())


def inspection_of_folder(data: Path) -> tuple[Inspection, SqliteTable]:
    """Of a data folder, also while a server has it open, and the table, which the caller closes. Raises: TableError."""
    table, clock = SqliteTable(data / TABLE), SystemClock()
    return Inspection(Stores(table, DiskBlobs(data / BLOBS), clock), clock.now()), table
