"""The keys of tool policies, of their rates, and of the records of calls.

pk                      sk        what                                              read by
t#TOOLPOLICIES          POLICIES  all policies of the tenant, in their order        steps, remembered for seconds; administration
t#CALLS#calls           CALLS     the calls of a step (index LISTS; ttl)            the list of recorded calls
t#CALLRATE#hash         window    the calls of one tool and subject in a window (ttl)  its next call
t#CALLRATE#CALL#hash    CALL      a call has been counted (ttl)                     its writer, by the condition of its write

index LISTS  t#CALLS#shard   calls   the recorded calls of a tenant

A hash stands for a policy, a tool and a subject, or for a run and a call: names of tools are longer than a key may be.
"""

from __future__ import annotations

import hashlib
import json

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.tenants import checked

CALLS = "CALLS"


def policies(tenant: str) -> Key:
    return Key(f"{checked(tenant)}#TOOLPOLICIES", "POLICIES")


def calls(tenant: str, calls_id: str) -> Key:
    return Key(f"{checked(tenant)}#{CALLS}#{calls_id}", CALLS)


def rate(tenant: str, counter: tuple[str, ...], window: int) -> Key:
    """`counter`: the policy, the tool and the subject; `window`: its beginning in seconds since 1970."""
    return Key(f"{checked(tenant)}#CALLRATE#{_hash(counter)}", f"{window:012d}")


def counted_call(tenant: str, call: tuple[str, ...]) -> Key:
    """`call`: the run, its step and the call's id."""
    return Key(f"{checked(tenant)}#CALLRATE#CALL#{_hash(call)}", "CALL")


def _hash(parts: tuple[str, ...]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
