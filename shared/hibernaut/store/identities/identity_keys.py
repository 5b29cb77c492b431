"""The keys of identities (`store.identities.identities`).

pk                   sk                what                                           read by
t#IDENTITY#identity  IDENTITY          the identity                                   retrieve, attach
t#IDENTITIES         identity          list row of an identity                        list, count, filters
t#IDENTITYKEYS       key#project       the identity with this key in a project        upsert, lists by key; both parts are hashes
t#IDENTITYBLOCKS     identity#block    link from an identity to a block               blocks of an identity, lists of blocks

The link from an identity to an agent is the agent's mark (`store.agents.agent_marks`).
"""

from __future__ import annotations

import hashlib

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.tenants import checked


def identity(tenant: str, identity_id: str) -> Key:
    return Key(f"{checked(tenant)}#IDENTITY#{identity_id}", "IDENTITY")


def identity_row(tenant: str, identity_id: str) -> Key:
    return Key(f"{checked(tenant)}#IDENTITIES", identity_id)


def identity_key(tenant: str, identifier_key: str, project_id: str | None) -> Key:
    """A caller's text may have any length and any character, so the key holds its hash. Without a project the second part is
    empty.
    """
    return Key(
        f"{checked(tenant)}#IDENTITYKEYS", identity_keys(identifier_key) + ("" if project_id is None else _hash(project_id))
    )


def identity_keys(identifier_key: str) -> str:
    """The beginning of the sort keys of the identities that have this key, in any project."""
    return f"{_hash(identifier_key)}#"


def identity_block(tenant: str, identity_id: str, block_id: str) -> Key:
    return Key(f"{checked(tenant)}#IDENTITYBLOCKS", f"{identity_id}#{block_id}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
