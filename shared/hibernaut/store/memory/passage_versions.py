"""The versions in a passage's items: the one that made it, and what an audit reports. Reads no table."""

from __future__ import annotations

import json

from hibernaut.domain.memory.versions import ChainCheck, ChainLink, bears_another
from hibernaut.ports.storage.table import Item
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.memory.version import ChainReport, StoredVersion
from hibernaut.store.versions.version_store import content_of

MADE = "made"
"""The attribute of a passage's item that holds its first version. Passages of older data lack it."""


def made_in(item: Item) -> StoredVersion | None:
    """The version that made a passage, from its item; None for older data."""
    return StoredVersion.model_validate_json(str(item[MADE])) if MADE in item else None


def report_of(archive_id: str, passage_id: str, item: Item, passage: Passage) -> ChainReport | None:
    """The report of an audit on an existing passage, whose item is stored under `passage_id`; None for older data."""
    version = made_in(item)
    if version is None:
        return None
    chain = ChainCheck(passage_id)
    fault = chain.take(ChainLink(json.loads(str(item[MADE])), None)) or (
        bears_another(version.version, passage.id)
        if passage.id != passage_id
        else chain.end((version.version, version.hash), version.version, content_of(passage))
    )
    return _report(archive_id, chain, fault)


def report_of_ended(archive_id: str, passage_id: str, link: ChainLink) -> ChainReport:
    """The report of an audit on a passage that was deleted by this version."""
    chain = ChainCheck(passage_id)
    return _report(archive_id, chain, chain.take(link) or chain.end((0, ""), 0, None))


def _report(archive_id: str, chain: ChainCheck, fault: str | None) -> ChainReport:
    number, found = chain.head
    return ChainReport(
        kind="passage",
        subject=chain.subject,
        version=number,
        hash=found,
        first=chain.first,
        fault=fault,
        archive_id=archive_id,
    )
