"""The keys of budgets and of their counters.

pk                 sk       what                                                   read by
t#BUDGETS          subject  a budget: its limits                                   list; acceptance and steps (remembered)
t#USED#subject#n   month    use in a month and on each of its days (ttl)           acceptance and steps of subjects with a budget
t#USED#CALL#token  CALL     a model call without a run has been counted (ttl)      its writer, by the condition of its write
t#USED#subject     RUNS     the number of runs that hold a slot                    acceptance, where the number of runs is limited

A subject is `tenant`, an API key's id or an agent's id; n is a shard. The runs of a subject add to SHARDS items, so that steps
which commit at the same time seldom meet on one item.
"""

from __future__ import annotations

import hashlib

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.tenants import checked

SHARDS = 8
"""The number of items that hold one subject's counters of a month."""


def budget(tenant: str, subject: str) -> Key:
    return Key(f"{checked(tenant)}#BUDGETS", subject)


def used(tenant: str, subject: str, shard: int, month: str) -> Key:
    return Key(f"{checked(tenant)}#USED#{subject}#{shard}", month)


def open_runs(tenant: str, subject: str) -> Key:
    return Key(f"{checked(tenant)}#USED#{subject}", "RUNS")


def call(tenant: str, token: str) -> Key:
    """The token is in the partition's name, so that these items share none."""
    return Key(f"{checked(tenant)}#USED#CALL#{token}", "CALL")


def shard_of(run_id: str) -> int:
    """The shard that a run adds to."""
    return hashlib.sha256(run_id.encode()).digest()[0] % SHARDS
