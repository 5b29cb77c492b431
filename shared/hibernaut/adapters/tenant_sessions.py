"""Credentials that reach the keys of one tenant only, and the table and the bucket under them.

The function assumes a role with permissions that the session's tag `tenant` limits (`infra/constructs/tenant_role.py`). The
credentials of a tenant are valid for an hour, cached for the tenants that the process served last, and requested by the first
call that needs them. All tenants share the clients: a call is signed with the credentials of the tenant that the calling thread
has entered.

Knows STS. Must not know the meaning of a key.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.blobs import BlobEntry, Blobs
from hibernaut.ports.storage.table import Change, Index, Item, Key, Query, Table
from hibernaut.schemas.immutable import immutable

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

TAG = "tenant"
"""The tag of a session. The role's permissions name it."""
SECONDS = 3600
"""Seconds of a session: the longest that AWS grants to a role that assumes another (IAM user guide, "Role chaining")."""
EARLY = timedelta(minutes=5)
"""How long before its end a session is replaced."""
MOST_SESSIONS = 1024
"""The largest number of tenants with cached credentials in a process."""
ATTEMPTS = 4
_TENANT: ContextVar[str] = ContextVar("tenant of the credentials")


@immutable
class _Session:
    credentials: ReadOnlyCredentials
    ends: datetime


class TenantSessions:
    """The sessions of a role, one for each tenant. Thread-safe. Construction costs no I/O."""

    def __init__(self, role: str, clock: Clock) -> None:
        """`role`: the ARN of the role."""
        self._role = role
        self._clock = clock
        self._lock = threading.Lock()
        self._sts: Any = None
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    @contextmanager
    def entered(self, tenant: str) -> Iterator[None]:
        """Calls of this thread, and of threads that copy its context, are signed for the tenant."""
        token = _TENANT.set(tenant)
        try:
            yield
        finally:
            _TENANT.reset(token)

    def current(self) -> ReadOnlyCredentials:
        """The credentials of the entered tenant. Raises: LookupError if there is none; BotoCoreError, ClientError."""
        tenant = _TENANT.get()
        with self._lock:
            session = self._sessions.get(tenant)
        if session is None or session.ends - EARLY <= self._clock.now():
            session = self._assumed(tenant)
            with self._lock:
                self._sessions[tenant] = session
                self._sessions.move_to_end(tenant)
                while len(self._sessions) > MOST_SESSIONS:
                    self._sessions.popitem(last=False)
        return session.credentials

    def _assumed(self, tenant: str) -> _Session:
        from botocore.credentials import ReadOnlyCredentials

        answer = self._client().assume_role(
            RoleArn=self._role, RoleSessionName=f"tenant-{tenant}", DurationSeconds=SECONDS, Tags=[{"Key": TAG, "Value": tenant}]
        )
        answer_credentials = answer["Credentials"]
        found = ReadOnlyCredentials(
            answer_credentials["AccessKeyId"], answer_credentials["SecretAccessKey"], answer_credentials["SessionToken"]
        )
        return _Session(found, answer_credentials["Expiration"])

    def _client(self) -> Any:
        if self._sts is None:
            from botocore.config import Config

            retrying = Config(retries={"mode": "standard", "total_max_attempts": ATTEMPTS}, connect_timeout=2, read_timeout=5)
            self._sts = aws_client("sts", retrying)
        return self._sts


class TenantSessionTable:
    """A table that signs every operation for one tenant. `table` has clients with the credentials of `sessions`."""

    def __init__(self, table: Table, sessions: TenantSessions, tenant: str) -> None:
        self._table = table
        self._sessions = sessions
        self._tenant = tenant

    def get(self, key: Key) -> Item | None:
        with self._sessions.entered(self._tenant):
            return self._table.get(key)

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        with self._sessions.entered(self._tenant):
            return self._table.get_many(keys)

    def query(
        self,
        pk: str,
        *,
        index: Index | None = None,
        after: str | None = None,
        before: str | None = None,
        prefix: str = "",
        limit: int | None = None,
        descending: bool = False,
        names: Sequence[str] = (),
    ) -> list[Item]:
        with self._sessions.entered(self._tenant):
            return self._table.query(
                pk, index=index, after=after, before=before, prefix=prefix, limit=limit, descending=descending, names=names
            )

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        with self._sessions.entered(self._tenant):
            return self._table.query_many(queries)

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        with self._sessions.entered(self._tenant):
            return self._table.count(pk, prefix=prefix, having=having)

    def write(self, *changes: Change) -> None:
        with self._sessions.entered(self._tenant):
            self._table.write(*changes)


class TenantSessionBlobs:
    """Blobs with every operation signed for one tenant. `blobs` has a client with the credentials of `sessions`."""

    def __init__(self, blobs: Blobs, sessions: TenantSessions, tenant: str) -> None:
        self._blobs = blobs
        self._sessions = sessions
        self._tenant = tenant

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:
        with self._sessions.entered(self._tenant):
            self._blobs.put(key, data, durable=durable)

    def get(self, key: str) -> bytes:
        with self._sessions.entered(self._tenant):
            return self._blobs.get(key)

    def delete(self, key: str) -> None:
        with self._sessions.entered(self._tenant):
            self._blobs.delete(key)

    def list(self, after: str = "", *, limit: int) -> Sequence[BlobEntry]:
        with self._sessions.entered(self._tenant):
            return self._blobs.list(after, limit=limit)
