"""The keys of the items that belong to the deployment and to no tenant: they are read to list the tenants, and to find the tenant
of a request.

pk                 sk                  what                                   read by
APIKEY#digest      APIKEY              an API key, under its keyed hash       authentication
APIKEYS            PEPPER              the sealed key of the digests          the first authentication of a process
RATES              LIMITS            limits on requests per second                  authentication, beside a key
RATE#tenant#subject  second          the requests of a second (ttl)                 requests that such a limit concerns
SOCKET#connection  SOCKET              a WebSocket connection of a gateway (ttl)  its messages and workers
SOCKET#connection  FOLLOW#request      a run that it follows (ttl)                its messages and workers
TENANTS            tenant              a tenant that has, or had, a key or a token   sweeps and workers that serve all tenants
"""

from __future__ import annotations

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.tenants import checked


def api_key(digest: str) -> Key:
    return Key(f"APIKEY#{digest}", "APIKEY")


def pepper() -> Key:
    return Key("APIKEYS", "PEPPER")


def rates() -> Key:
    return Key("RATES", "LIMITS")


def rate(name: str, second: int) -> Key:
    """`name`: a subject with its tenant."""
    return Key(f"RATE#{name}", str(second))


def socket(connection_id: str) -> Key:
    return Key(f"SOCKET#{connection_id}", "SOCKET")


def socket_follow(connection_id: str, request_id: str) -> Key:
    return Key(f"SOCKET#{connection_id}", f"FOLLOW#{request_id}")


def tenant_entry(tenant: str) -> Key:
    return Key("TENANTS", checked(tenant))
