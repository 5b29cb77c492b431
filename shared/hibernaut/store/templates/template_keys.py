"""The keys of templates (`store.templates.templates`).

pk                    sk            what                                           read by
t#TEMPLATE#template   TEMPLATE      the template with its list of versions         every request
t#TEMPLATE#template   DOC#number    the agent file of a version; 0: the current    agents, save, roll back
t#TEMPLATE#template   MIGRATION     its newest migration (index DUE until it is over; ttl)   the sweep; status
t#TEMPLATENAMES       name          the template with this name                    every request
"""

from __future__ import annotations

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.tenants import checked

DOCUMENTS = "DOC#"
MIGRATION = "MIGRATION"
"""The sort key of a template's newest migration."""


def template(tenant: str, template_id: str) -> Key:
    return Key(f"{checked(tenant)}#TEMPLATE#{template_id}", "TEMPLATE")


def template_document(tenant: str, template_id: str, number: int) -> Key:
    return Key(f"{checked(tenant)}#TEMPLATE#{template_id}", f"{DOCUMENTS}{number:06d}")


def template_migration(tenant: str, template_id: str) -> Key:
    return Key(f"{checked(tenant)}#TEMPLATE#{template_id}", MIGRATION)


def template_name(tenant: str, name: str) -> Key:
    return Key(f"{checked(tenant)}#TEMPLATENAMES", name)
