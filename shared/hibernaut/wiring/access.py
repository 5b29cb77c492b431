"""Access to the keys of a deployment without its server: the composition root of the command `hibernaut keys`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.adapters.clock import SystemClock, TimeOrderedIds
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.schemas.immutable import immutable
from hibernaut.services.access.access import Access
from hibernaut.store.stores import Stores
from hibernaut.wiring.data_folder import BLOBS, SECRETS, TABLE, DataFolder, DataFolderInUse, check_links
from hibernaut.wiring.settings import EmbeddedSettings
from hibernaut.wiring.tenant_budget import tenant_budget_of


@contextmanager
def access_to_folder(settings: EmbeddedSettings) -> Iterator[Access]:
    """The keys of a data folder, which is created if it is missing.

    A server may have the folder open: SQLite serialises the writes of the two processes, and the server finds a change within
    `FRESH_SECONDS` (`services/access/authentication.py`). Raises: DataFolderUnusable, TableError.
    """
    with ExitStack() as opened:
        try:
            opened.callback(DataFolder(settings.data, settings.user_key).close)
        except DataFolderInUse:
            check_links(settings.data)
        table = SqliteTable(settings.data / TABLE)
        opened.callback(table.close)
        clock = SystemClock()
        stores = Stores(table, DiskBlobs(settings.data / BLOBS), clock)
        cipher, budget = KeyFileCipher(settings.data / SECRETS), tenant_budget_of(settings.tenant_budget)
        yield Access(stores, cipher, clock, TimeOrderedIds(clock), required=True, tenant_budget=budget)


@immutable
class DeployedStack:
    """The resources of a deployed stack that hold its keys."""

    env: str
    table: str
    bucket: str
    secrets_key: str


def access_to_stack(stack: DeployedStack) -> Access:
    """The keys of a deployed stack, with the AWS credentials of the user. Construction connects to nothing."""
    from hibernaut.adapters.blobs.s3 import S3Blobs
    from hibernaut.adapters.cipher.kms import KmsCipher
    from hibernaut.adapters.table.dynamodb import DynamoDbTable

    clock = SystemClock()
    cipher = KmsCipher(stack.secrets_key, deployment=stack.env, clock=clock)
    stores = Stores(DynamoDbTable(stack.table), S3Blobs(stack.bucket), clock)
    return Access(stores, cipher, clock, TimeOrderedIds(clock), required=True)
