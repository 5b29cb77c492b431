"""The audit of a tenant by pages: it says what the whole audit says, and no page reads without a bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Delete
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.memory.block import BlockUpdate, CreateBlock
from hibernaut.schemas.memory.passage import CreateArchive, CreatePassage
from hibernaut.schemas.memory.version import ChainReport
from hibernaut.services.memory import audit_pages
from hibernaut.services.memory.audit_pages import AuditPages
from hibernaut.services.memory.memory_audit import MemoryAudit
from hibernaut.store.stores import TenantStores
from tests.support.histories import Histories
from tests.support.house import House


@pytest.fixture
def kept(tmp_path: Path) -> Histories:
    return Histories(tmp_path)


def walked(stores: TenantStores, limit: int) -> list[ChainReport]:
    """The reports of all pages; no page is larger than it may be."""
    pages, cursor = AuditPages(stores), None
    found: list[ChainReport] = []
    for _ in range(1000):
        page = pages.page(cursor, limit)
        assert len(page.records) <= limit
        found += page.records
        cursor = page.next
        if cursor is None:
            return found
    raise AssertionError("the pages do not end")


def with_everything(house: House) -> None:
    """Agents, blocks, passages in several archives, and passages that were deleted."""
    for _ in range(3):
        agent = house.agent()
        made = [house.services.passages.create_for(agent.id, CreatePassage(text=text))[0] for text in ("a", "b", "c")]
        for one in made[:2]:
            house.services.passages.delete(str(one.archive_id), one.id)
        house.services.archives.create(CreateArchive(name="empty"))
    for value in ("one", "two"):
        block = house.services.blocks.create(CreateBlock(label="notes", value=value))
        house.services.blocks.update(block.id, BlockUpdate(value="other"))


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_say_what_the_whole_audit_says(house: House, limit: int) -> None:
    with_everything(house)
    whole = list(MemoryAudit(house.stores).check())
    found = walked(house.stores, limit)
    assert {report.kind for report in whole} == {"agent", "block", "passage"}
    assert [report.subject for report in found] == [report.subject for report in whole]
    assert found == whole


@pytest.mark.parametrize("limit", [1, 100])
def test_a_broken_chain_is_named_on_its_page_and_the_others_hold(house: House, limit: int) -> None:
    with_everything(house)
    broken = house.services.blocks.create(CreateBlock(label="notes", value="one"))
    for value in ("two", "three"):
        house.services.blocks.update(broken.id, BlockUpdate(value=value))
    house.table.write(Delete(house.stores.blocks.history(broken.id).key(2)))
    faults = {report.subject: report.fault for report in walked(house.stores, limit) if report.fault}
    assert faults == {broken.id: "version 3: versions 2 to 2 are missing"}


@pytest.mark.parametrize("gone", [None, 120, 199, 260])
def test_a_long_chain_is_checked_over_several_pages(kept: Histories, monkeypatch: pytest.MonkeyPatch, gone: int | None) -> None:
    monkeypatch.setattr(audit_pages, "LONGEST_PART", 100)
    monkeypatch.setattr(audit_pages, "LARGEST_PAGE", 100)
    block = kept.block("0")
    for value in range(1, 290):
        kept.blocks.update(block.id, BlockUpdate(value=str(value)))
    if gone:
        kept.table.write(Delete(kept.stores.blocks.history(block.id).key(gone)))
    first = AuditPages(kept.stores).page(None, 50)
    assert (first.records, first.next) == ([], f"block:{block.id}@100"), "its end is not reached yet"
    (report,) = walked(kept.stores, 50)
    assert (report.subject, report.version) == (block.id, gone + 1 if gone else 290)
    assert report.fault == (f"version {gone + 1}: versions {gone} to {gone} are missing" if gone else None)


def test_a_cursor_of_nowhere_is_refused(kept: Histories) -> None:
    for cursor in ("x", "agent", "agent:a b", "tool:tool-1", "passage:archive-1/a/b", "block:block-1@-1", "block:block-1@1\n"):
        with pytest.raises(InvalidArgument, match="after must be the next of another page"):
            AuditPages(kept.stores).page(cursor, 10)
