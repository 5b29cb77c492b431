"""The check of one record's chain of versions, whole or in parts. Changes nothing.

Knows where the versions of agents and blocks are; must not know which records a tenant has (`memory_audit`, `audit_pages`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hibernaut.domain.memory.versions import ChainCheck, bears_another
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.version import ChainReport, NotedHead
from hibernaut.store.agents.agents import state_of as state_of_agent
from hibernaut.store.memory.blocks import state_of as state_of_block
from hibernaut.store.stores import TenantStores
from hibernaut.store.versions.version_keys import VersionPlace
from hibernaut.store.versions.version_store import RecordState, read_chain

TRIES = 5
"""How often a record is checked that changes meanwhile."""
PAGE = 100
"""Versions that are read together."""


@immutable
class AuditedRecord:
    """A record to check; `state` None: it is deleted. `named`: the id in the record itself, which the digests leave out."""

    kind: str
    place: VersionPlace
    state: RecordState | None
    named: str = ""


class ChainPart(NamedTuple):
    """A part of a chain. `after`: the version at which the part before it ended, which is read again (0: none); `most`: how many
    versions are read, about.
    """

    after: int = 0
    most: int | None = None


class CheckedChain(NamedTuple):
    """What was found. `read`: how many versions were read; `ended`: whether the chain was checked to its end, and against its
    record.
    """

    report: ChainReport
    read: int
    ended: bool


WHOLE = ChainPart()


class ChainAudit:
    """Checks chains of one tenant. Its methods raise StoreUnavailable, and OSError if a blob cannot be read."""

    def __init__(self, stores: TenantStores) -> None:
        self._stores = stores

    def record(self, kind: str, subject: str) -> AuditedRecord:
        """A record as it is now. `kind`: `agent` or `block`."""
        if kind == "agent":
            return self._audited(kind, subject, self._stores.agents.get(subject))
        return self._audited(kind, subject, self._stores.blocks.get(subject))

    def records(self, kind: str, ids: list[str]) -> list[AuditedRecord]:
        """Those of the records that are there, as they are now. A record that bears another id than its key is among them."""
        found: Mapping[str, StoredAgent | StoredBlock]
        found = self._stores.agents.get_many(ids) if kind == "agent" else self._stores.blocks.get_many(ids)
        audited = [self._audited(kind, each, found[each]) if each in found else self.record(kind, each) for each in ids]
        return [each for each in audited if each.state is not None]

    def _audited(self, kind: str, subject: str, record: StoredAgent | StoredBlock | None) -> AuditedRecord:
        place = self._stores.agents.history(subject) if kind == "agent" else self._stores.blocks.history(subject)
        if record is None:
            return AuditedRecord(kind, place, None)
        state = state_of_agent(record) if isinstance(record, StoredAgent) else state_of_block(record)
        return AuditedRecord(kind, place, state, record.id)

    def settled(self, record: AuditedRecord, noted: NotedHead | None = None, part: ChainPart = WHOLE) -> CheckedChain:
        """The check of a record. A record that changes while it is checked is checked again. `noted`: a head that must be in the
        chain.
        """
        checked = self._checked(record, noted, part)
        for _ in range(TRIES):
            current = self.record(record.kind, record.place.subject) if checked.report.fault else record
            if current == record:
                break
            record, checked = current, self._checked(current, noted, part)
        return checked

    def _checked(self, record: AuditedRecord, noted: NotedHead | None, part: ChainPart) -> CheckedChain:
        chain, fault, after, noted_found = ChainCheck(record.place.subject), None, max(part.after - 1, 0), noted is None
        at_end = False
        while fault is None and not at_end and (part.most is None or chain.count < part.most):
            links = self._stores.versions.links(record.place, after=after, limit=PAGE)
            for link in links:
                fault = chain.take(link)
                if noted is not None and link.number == noted.version:
                    noted_found = True
                    if fault is None and link.stored.get("hash") != noted.hash:
                        fault = f"version {link.number}: it has another hash than was noted"
                if fault is not None:
                    break
            at_end = len(links) < PAGE
            after = links[-1].number if links else after
        if fault is None and at_end:
            fault = self._end_fault(record, chain)
        if fault is None and not noted_found and noted is not None and chain.first <= noted.version:
            fault = f"version {noted.version}: it was noted, and it is missing"
        number, digest = chain.head
        report = ChainReport(
            subject=record.place.subject, kind=record.kind, first=chain.first, version=number, hash=digest, fault=fault
        )
        return CheckedChain(report, chain.count, at_end or fault is not None)

    def _end_fault(self, record: AuditedRecord, chain: ChainCheck) -> str | None:
        """The reason why the chain does not end with the record."""
        if record.state is None:
            return chain.end((0, ""), 0, None) if chain.count else None
        if record.named != record.place.subject:
            return bears_another(record.state.number, record.named)
        head = read_chain(record.state.chain)
        expired = not chain.count and self._stores.versions.is_expired(head)
        return None if expired else chain.end((head.number, head.hash), record.state.number, record.state.content)
