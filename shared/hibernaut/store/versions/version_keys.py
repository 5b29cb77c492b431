"""The keys of versions.

pk              sk                      what                                    read by
t#BLOCK#block   VERSION#number          a version of the block (ttl)            history, rollback, audit
t#AGENT#agent   VERSION#number          a version of the agent's settings (ttl) history, forks, audit
t#ARCH#archive  VERSION#passage#number  a version that ended a passage (ttl)    history of a passage, audit
t#ERASED        id                      the erasure of a person that took a record with its versions; its newest version  audit

A number has ten digits. A deleted agent or archive takes its versions along; those of a deleted block expire.
"""

from __future__ import annotations

from typing import NamedTuple

from hibernaut.ports.storage.table import Key
from hibernaut.store.table import keys
from hibernaut.store.table.tenants import checked

VERSION = "VERSION#"
"""The prefix of the sort keys of versions."""


class VersionPlace(NamedTuple):
    """Where the versions of one record are. `subject`: the record's id."""

    pk: str
    prefix: str
    subject: str

    def key(self, number: int) -> Key:
        """The key of the version with this number."""
        return Key(self.pk, self.prefix + f"{number:010d}")


def erased(tenant: str, subject: str) -> Key:
    return Key(f"{checked(tenant)}#ERASED", subject)


def of_block(tenant: str, block_id: str) -> VersionPlace:
    """The place of a block's versions, in the block's partition."""
    return VersionPlace(keys.block(tenant, block_id).pk, VERSION, block_id)


def of_agent(tenant: str, agent_id: str) -> VersionPlace:
    """The place of the versions of an agent's settings, in the agent's partition."""
    return VersionPlace(keys.agent(tenant, agent_id).pk, VERSION, agent_id)


def of_passage(tenant: str, archive_id: str, passage_id: str) -> VersionPlace:
    """The place of a passage's versions, in the partition of its archive."""
    return VersionPlace(keys.archive(tenant, archive_id).pk, f"{VERSION}{passage_id}#", passage_id)
