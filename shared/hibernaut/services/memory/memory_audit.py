"""The audit of versions: checks the chain of every block, agent and passage of a tenant, and compares it with heads that were
noted before.

A chain shows that a version was changed, exchanged or taken out. It cannot show that its end was cut off together with the
record, or that somebody who may write the whole table computed a new one: for that, note the heads elsewhere, and check against
them. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hibernaut.domain.memory.versions import hashed
from hibernaut.schemas.memory.version import ChainReport, NotedHead
from hibernaut.services.memory.chain_audit import AuditedRecord, ChainAudit
from hibernaut.store.stores import TenantStores
from hibernaut.store.versions.version_keys import VersionPlace

PAGE = 100
"""Records that are read together."""


class MemoryAudit:
    """The audit of one tenant. Its methods raise StoreUnavailable, and OSError if a blob cannot be read."""

    def __init__(self, stores: TenantStores) -> None:
        self._stores = stores
        self._chains = ChainAudit(stores)

    def check(self, *, agent_id: str | None = None, noted: Iterable[NotedHead] = ()) -> Iterator[ChainReport]:
        """A report of each record that has versions, read lazily: of all blocks, agents and passages of the tenant, or of one
        agent with its blocks.

        `noted`: heads of an earlier audit. Their versions must still be in the chains; a record that was deleted since is checked
        too.
        """
        heads = {head.subject: head for head in noted}
        for record in self._of_agent(agent_id) if agent_id else self._all():
            yield self._chains.settled(record, heads.pop(record.place.subject, None)).report
        if agent_id is None:
            yield from self._passages(heads)
            for head in heads.values():
                yield self._erased(head) or self._chains.settled(AuditedRecord(head.kind, self._place(head), None), head).report

    def _erased(self, head: NotedHead) -> ChainReport | None:
        """The report of a record that was erased with a person: its chain ended at the version of the tombstone, and the noted
        head is a part of it.
        """
        found = self._stores.versions.erased(head.subject)
        if found is None:
            return None
        erasure, version, digest = found
        is_other = version < head.version or (version == head.version and digest != head.hash)
        fault = f"version {head.version}: it was noted, and the record was erased at version {version}" if is_other else None
        return ChainReport(kind=head.kind, subject=head.subject, version=version, hash=digest, fault=fault, erasure=erasure)

    def _place(self, head: NotedHead) -> VersionPlace:
        history_of = self._stores.agents.history if head.kind == "agent" else self._stores.blocks.history
        return history_of(head.subject)

    def _of_agent(self, agent_id: str) -> Iterator[AuditedRecord]:
        agent = self._stores.agents.get(agent_id)
        yield self._chains.record("agent", agent_id)
        yield from self._chains.records("block", agent.block_ids if agent else [])

    def _all(self) -> Iterator[AuditedRecord]:
        for kind, listed in (("agent", self._stores.agents.listed()), ("block", self._stores.blocks.listed())):
            for ids in _pages(str(row["sk"]) for row in listed.walk(first=PAGE)):
                yield from self._chains.records(kind, ids)

    def _passages(self, heads: dict[str, NotedHead]) -> Iterator[ChainReport]:
        """The passages of all archives. A passage has one version while it is there."""
        for archive_id in self._stores.passages.archives():
            for _, report in self._stores.passages.audited(archive_id):
                if report is None:
                    continue
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
