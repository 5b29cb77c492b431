"""The table and the bucket of the AWS profile: with the function's own credentials, and with those of one tenant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.blobs import Blobs
from hibernaut.ports.storage.table import Table
from hibernaut.wiring.settings import AwsSettings

if TYPE_CHECKING:
    from hibernaut.adapters.tenant_sessions import TenantSessions

Wrap = Callable[[Table], Table] | None
"""What replaces the profile's own table, over it."""


def table_of(settings: AwsSettings, wrap: Wrap, credentials: TenantSessions | None = None) -> Table:
    """The table."""
    own = DynamoDbTable(settings.table, credentials=credentials)
    return wrap(own) if wrap else own


def tenants_engines_of(settings: AwsSettings, wrap: Wrap, clock: Clock) -> Callable[[str], tuple[Table, Blobs]] | None:
    """The table and the bucket under each tenant's own credentials; None: the function's role reaches all tenants."""
    if not settings.tenant_role:
        return None
    from hibernaut.adapters.tenant_sessions import TenantSessionBlobs, TenantSessions, TenantSessionTable

    sessions = TenantSessions(settings.tenant_role, clock)
    table, blobs = table_of(settings, wrap, sessions), S3Blobs(settings.bucket, credentials=sessions)
    return lambda tenant: (TenantSessionTable(table, sessions, tenant), TenantSessionBlobs(blobs, sessions, tenant))
