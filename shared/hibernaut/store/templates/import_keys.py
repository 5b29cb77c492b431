"""The keys of imports and of agents' skills.

pk                 sk      what                                          read by
t#IMPORT#import    IMPORT  an import that is not complete (index DUE)    the import; the sweep
t#AGENT#agent      SKILLS  the skills that an agent brought along        its export
t#IMPORTED#digest  MARK    the import of a request (ttl)                 re-sent requests
t#AGENT#agent      COMING  the import that has reserved the agent's id   imports that keep ids
"""

from __future__ import annotations

from hibernaut.ports.storage.table import Key
from hibernaut.store.table import keys
from hibernaut.store.table.tenants import checked

IMPORT = "IMPORT"
"""The sort key of an import."""


def import_of(tenant: str, import_id: str) -> Key:
    return Key(f"{checked(tenant)}#IMPORT#{import_id}", IMPORT)


def mark(tenant: str, digest: str) -> Key:
    return Key(f"{checked(tenant)}#IMPORTED#{digest}", "MARK")


def reservation(tenant: str, agent_id: str) -> Key:
    return Key(keys.agent(tenant, agent_id).pk, "COMING")


def skills(tenant: str, agent_id: str) -> Key:
    """The key is in the partition of the agent, with which it is deleted."""
    return Key(keys.agent(tenant, agent_id).pk, "SKILLS")
