"""The keys of erasures of persons.

pk                 sk            what                                                    read by
t#ERASURE#erasure  ERASURE       the erasure (index DUE while there is work)             its worker; the sweep
t#ERASURE#erasure  LINE#kind#id  a line of its receipt                                   its worker; the receipt
t#ERASURES         erasure       list row of an erasure                                  list
t#ERASING          sender        a `sender_id` that means a person in erasure (a hash)   acceptance of messages that name a sender
"""

from __future__ import annotations

import hashlib

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.tenants import checked

ERASURE = "ERASURE"
"""The sort key of an erasure."""
LINE = "LINE#"


def erasure(tenant: str, erasure_id: str) -> Key:
    return Key(f"{checked(tenant)}#ERASURE#{erasure_id}", ERASURE)


def line(tenant: str, erasure_id: str, kind: str, subject: str) -> Key:
    return Key(erasure(tenant, erasure_id).pk, f"{LINE}{kind}#{subject}")


def erasure_row(tenant: str, erasure_id: str) -> Key:
    return Key(f"{checked(tenant)}#ERASURES", erasure_id)


def sender(tenant: str, sender_id: str) -> Key:
    """A caller's text may have any length and any character, so the key holds its hash."""
    return Key(f"{checked(tenant)}#ERASING", hashlib.sha256(sender_id.encode("utf-8", "surrogatepass")).hexdigest())
