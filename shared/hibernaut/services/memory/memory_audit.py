"""The audit of versions: checks the chain of every block, agent and passage of a tenant, and compares it with heads that were noted before.

A chain shows that a version was changed, exchanged or taken out. It cannot show that its end was cut off together with the record, or that somebody who may
write the whole table computed a new one: for that, note the heads elsewhere, and check against them. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from hibernaut.domain.memory.versions import ChainCheck, hashed
from hibernaut.schemas.memory.version import ChainReport, NotedHead
from hibernaut.store.agents.agents import state_of as state_of_agent
from hibernaut.store.memory.blocks import state_of as state_of_block
from hibernaut.store.stores import TenantStores
from hibernaut.store.versions.version_keys import VersionPlace
from hibernaut.store.versions.version_store import RecordState, read_chain

TRIES = 5
"""How often a record is checked that changes meanwhile."""
PAGE = 100
"""Versions, and records, that are read together."""


@dataclass(frozen=True, slots=True)
class _Record:
    """A record to check; `state` None: it is deleted."""

    kind: str
    place: VersionPlace
    state: RecordState | None


class MemoryAudit:
    """The audit of one tenant. Its methods raise StoreUnavailable, and OSError if a blob cannot be read."""

    def __init__(self, stores: TenantStores) -> None:
        self._stores = stores

    def check(self, *, agent_id: str | None = None, noted: Iterable[NotedHead] = ()) -> Iterator[ChainReport]:
        """A report of each record that has versions, read lazily: of all blocks, agents and passages of the tenant, or of one agent with its blocks.

        `noted`: heads of an earlier audit. Their versions must still be in the chains; a record that is gone since is checked too.
        """
        heads = {head.subject: head for head in noted}
        for record in self._of_agent(agent_id) if agent_id else self._all():
            yield self._settled(record, heads.pop(record.place.subject, None))
        if agent_id is None:
            yield from self._passages(heads)
            for head in heads.values():
                yield self._erased(head) or self._settled(_Record(head.kind, self._place(head), None), head)

    def _erased(self, head: NotedHead) -> ChainReport | None:
        """The report of a record that went with a person: its chain ended where the tombstone says, and the noted head is a part of it."""
        found = self._stores.versions.erased(head.subject)
        if found is None:
            return None
        erasure, version, digest = found
        other = version < head.version or (version == head.version and digest != head.hash)
        fault = f"version {head.version}: it was noted, and the record was erased at version {version}" if other else None
        return ChainReport(kind=head.kind, subject=head.subject, version=version, hash=digest, fault=fault, erasure=erasure)

    def _place(self, head: NotedHead) -> VersionPlace:
        of = self._stores.agents.history if head.kind == "agent" else self._stores.blocks.history
        return of(head.subject)

    def _of_agent(self, agent_id: str) -> Iterator[_Record]:
        agent = self._stores.agents.get(agent_id)
        yield _Record("agent", self._stores.agents.history(agent_id), state_of_agent(agent) if agent else None)
        found = self._stores.blocks.get_many(agent.block_ids) if agent else {}
        for block in found.values():
            yield _Record("block", self._stores.blocks.history(block.id), state_of_block(block))

    def _all(self) -> Iterator[_Record]:
        agents, blocks = self._stores.agents, self._stores.blocks
        for ids in _pages(str(row["sk"]) for row in agents.listed().walk(first=PAGE)):
            for agent in agents.get_many(ids).values():
                yield _Record("agent", agents.history(agent.id), state_of_agent(agent))
        for ids in _pages(str(row["sk"]) for row in blocks.listed().walk(first=PAGE)):
            for block in blocks.get_many(ids).values():
                yield _Record("block", blocks.history(block.id), state_of_block(block))

    def _settled(self, record: _Record, noted: NotedHead | None) -> ChainReport:
        """The report of a record. A record that changes while it is checked is checked again."""
        report = self._checked(record, noted)
        for _ in range(TRIES):
            again = self._read(record) if report.fault else record
            if again == record:
                break
            record, report = again, self._checked(again, noted)
        return report

    def _read(self, record: _Record) -> _Record:
        """The record as it is now."""
        subject = record.place.subject
        if record.kind == "agent":
            agent = self._stores.agents.get(subject)
            return replace(record, state=state_of_agent(agent) if agent else None)
        block = self._stores.blocks.get(subject)
        return replace(record, state=state_of_block(block) if block else None)

    def _checked(self, record: _Record, noted: NotedHead | None) -> ChainReport:
        chain, fault, after, met = ChainCheck(record.place.subject), None, 0, noted is None
        while fault is None:
            links = self._stores.versions.links(record.place, after=after, limit=PAGE)
            for link in links:
                fault = chain.take(link)
                if noted is not None and link.number == noted.version:
                    met = True
                    if fault is None and link.stored.get("hash") != noted.hash:
                        fault = f"version {link.number}: it has another hash than was noted"
                if fault is not None:
                    break
            if len(links) < PAGE:
                break
            after = links[-1].number
        state = record.state
        if fault is None and state is not None:
            named = read_chain(state.chain)
            expired = not chain.count and self._stores.versions.is_expired(named)
            fault = None if expired else chain.end((named.number, named.hash), state.number, state.content)
        elif fault is None and chain.count:
            fault = chain.end((0, ""), 0, None)
        if fault is None and not met and noted is not None and chain.first <= noted.version:
            fault = f"version {noted.version}: it was noted, and it is missing"
        number, found = chain.head
        return ChainReport(
            subject=record.place.subject, kind=record.kind, first=chain.first, version=number, hash=found, fault=fault
        )

    def _passages(self, heads: dict[str, NotedHead]) -> Iterator[ChainReport]:
        """The passages of all archives. A passage has one version while it is there."""
        for archive_id in self._stores.passages.archives():
            for report in self._stores.passages.audited(archive_id):
                head = heads.pop(report.subject, None)
                if head is not None and report.fault is None and head.version == report.version and head.hash != report.hash:
                    report = report.model_copy(update={"fault": f"version {head.version}: it has another hash than was noted"})
                yield report


def summary(reports: Iterable[ChainReport]) -> str:
    """One digest of all heads, such as those of an agent, which is short enough to be noted by hand."""
    heads: Mapping[str, list[object]] = {report.subject: [report.version, report.hash] for report in reports}
    return hashed(heads)


def _pages(ids: Iterable[str]) -> Iterator[list[str]]:
    page: list[str] = []
    for each in ids:
        page.append(each)
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page
