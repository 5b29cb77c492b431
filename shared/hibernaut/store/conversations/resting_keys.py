"""The keys of packs and of the search for idle agents.

pk                 sk                  what                                             read by
t#CONV#c           PACK#id             a pack of rows of the log; owns its blob         packing, waking
t#RESTS            list                how far a round has come in a list               the sweep
COLLECTION         ROUND#name          tenant and beginning of the round (no tenant)    the sweep
"""

from __future__ import annotations

import secrets
from datetime import datetime

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.bodies.packs import PACK
from hibernaut.store.table.tenants import checked


def new_pack(pk: str, now: datetime) -> Key:
    """The key of a new pack of a partition. Packs are in the order of their making."""
    return Key(pk, f"{PACK}{int(now.timestamp() * 1000):012x}{secrets.token_hex(4)}")


def progress(tenant: str, noun: str) -> Key:
    """`noun`: the list that the round walks through."""
    return Key(f"{checked(tenant)}#RESTS", noun)


def tenant_round(name: str) -> Key:
    return Key("COLLECTION", f"ROUND#{name}")
