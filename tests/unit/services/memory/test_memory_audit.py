"""The audit of versions: what somebody who writes the table may do, and how it shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Delete, Item, Key, Put
from hibernaut.schemas.memory.block import BlockUpdate
from hibernaut.schemas.memory.passage import CreatePassage
from hibernaut.schemas.memory.version import ChainReport, NotedHead
from hibernaut.services.memory.memory_audit import MemoryAudit, summary
from tests.support.histories import Histories
from tests.support.house import House


@pytest.fixture
def kept(tmp_path: Path) -> Histories:
    return Histories(tmp_path)


def audited(kept: Histories, **asked: object) -> dict[str, ChainReport]:
    return {report.subject: report for report in MemoryAudit(kept.stores).check(**asked)}  # type: ignore[arg-type]


def changed(kept: Histories, key: Key, change: Callable[[dict[str, object]], object]) -> None:
    """Somebody writes the table."""
    item = kept.table.get(key)
    assert item is not None
    loose: dict[str, object] = dict(item)
    change(loose)
    kept.table.write(Put(loose))  # type: ignore[arg-type]


def in_meta(**fields: object) -> Callable[[dict[str, object]], None]:
    def change(item: dict[str, object]) -> None:
        item["meta"] = json.dumps(json.loads(str(item["meta"])) | fields)

    return change


def in_body(old: str, new: str) -> Callable[[dict[str, object]], None]:
    def change(item: dict[str, object]) -> None:
        item["body"] = str(item["body"]).replace(old, new)

    return change


def test_untouched_chains_hold_and_their_heads_have_one_summary(kept: Histories) -> None:
    block = kept.block("one", "two", "three")
    agent = kept.world.make_agent(blocks=[block])
    found = audited(kept)
    assert {report.fault for report in found.values()} == {None}
    assert {(report.kind, report.version) for report in found.values()} == {("block", 3), ("agent", 1)}
    assert set(audited(kept, agent_id=agent)) == {agent, block.id}
    before = summary(found.values())
    kept.blocks.update(block.id, BlockUpdate(value="four"))
    assert summary(audited(kept).values()) != before


@pytest.mark.parametrize(
    ("tampering", "told"),
    [
        (
            lambda kept, place: changed(kept, place.key(2), in_meta(by={"source": "api", "key_id": "key-of-another"})),
            "version 2: its hash",
        ),
        (lambda kept, place: changed(kept, place.key(2), in_meta(at="2026-01-01T00:00:00.000000Z")), "version 2: its hash"),
        (lambda kept, place: changed(kept, place.key(3), in_body("two", "TWO")), "version 3: its hash"),
        (lambda kept, place: kept.table.write(Delete(place.key(2))), "version 3: versions 2 to 2 are missing"),
        (lambda kept, place: kept.table.write(Delete(place.key(4))), "version 4: the record names a version"),
        (
            lambda kept, place: changed(kept, Key(place.pk, "BLOCK"), in_body("four", "FOUR")),
            "version 4: the record is not what it left",
        ),
        (
            lambda kept, place: kept.table.write(
                Delete(Key(place.pk, "BLOCK")),
            ),
            None,
        ),
    ],
)
def test_the_first_broken_link_is_named(
    kept: Histories, tampering: Callable[[Histories, object], None], told: str | None
) -> None:
    block = kept.block("one", "two", "three", "four")
    tampering(kept, kept.stores.blocks.history(block.id))
    if told is None:
        head = NotedHead(kind="block", subject=block.id, version=4, hash="x")
        fault = audited(kept, noted=[head])[block.id].fault
        assert fault is not None
        return
    fault = audited(kept)[block.id].fault
    assert fault is not None
    assert fault.startswith(told)


def test_a_record_that_bears_another_id_is_named(house: House) -> None:
    agent = house.agent(memory_blocks=[{"label": "human", "value": "Ada"}])
    (block_id,) = agent.block_ids
    (passage,) = house.services.passages.create_for(agent.id, CreatePassage(text="Tea at five."))
    places = {
        agent.id: Key(f"default#AGENT#{agent.id}", "AGENT"),
        block_id: Key(f"default#BLOCK#{block_id}", "BLOCK"),
        passage.id: Key(f"default#ARCH#{passage.archive_id}", f"PASSAGE#{passage.id}"),
    }
    for subject, key in places.items():
        item = house.table.get(key)
        assert item is not None
        house.table.write(Put(dict(item) | {"body": str(item["body"]).replace(subject, "another-0")}))
    audit = MemoryAudit(house.stores)
    faults = dict.fromkeys(places, "version 1: the record bears the id 'another-0'")
    assert {report.subject: report.fault for report in audit.check()} == faults
    of_agent = {report.subject: report.fault for report in audit.check(agent_id=agent.id)}
    assert of_agent == {agent.id: faults[agent.id], block_id: faults[block_id]}


def test_an_end_that_was_cut_off_with_its_record_shows_only_against_noted_heads(kept: Histories) -> None:
    block = kept.block("one", "two", "three")
    then = kept.table.get(kept.key(block.id))
    noted = [NotedHead(**report.model_dump(include=set(NotedHead.model_fields))) for report in audited(kept).values()]
    kept.blocks.update(block.id, BlockUpdate(value="four"))
    assert audited(kept, noted=noted)[block.id].fault is None, "the record may go on"
    later = [NotedHead(**report.model_dump(include=set(NotedHead.model_fields))) for report in audited(kept).values()]
    assert then is not None
    kept.table.write(Put(then), Delete(kept.stores.blocks.history(block.id).key(4)))
    assert audited(kept)[block.id].fault is None
    assert audited(kept, noted=later)[block.id].fault == "version 4: it was noted, and it is missing"


def test_a_change_by_a_release_without_versions_is_named(kept: Histories) -> None:
    block = kept.block("one", "two")
    changed(kept, kept.key(block.id), lambda item: item.update(version=3, body=str(item["body"]).replace("two", "old release")))
    assert (audited(kept)[block.id].fault or "").startswith("version 3: it is not recorded")
    kept.blocks.update(block.id, BlockUpdate(value="three"))
    assert audited(kept)[block.id].fault == "version 4: versions 3 to 3 are missing"


def test_expired_versions_are_no_fault_even_if_all_are(kept: Histories) -> None:
    block = kept.block("one", "two")
    kept.wait(timedelta(days=91))
    report = audited(kept)[block.id]
    assert (report.fault, report.version) == (None, 0)
    kept.blocks.update(block.id, BlockUpdate(value="three"))
    assert (audited(kept)[block.id].first, audited(kept)[block.id].fault) == (3, None)


def test_a_block_that_changes_during_its_check_is_checked_again(kept: Histories) -> None:
    block = kept.block("one", "two")
    read, busy = kept.stores.versions.links, [True]

    def links(*asked: object, **more: object) -> object:
        if busy.pop() if busy else False:
            kept.blocks.update(block.id, BlockUpdate(value="meanwhile"))
        return read(*asked, **more)  # type: ignore[arg-type]

    kept.stores.versions.links = links  # type: ignore[method-assign,assignment]
    assert (audited(kept)[block.id].version, audited(kept)[block.id].fault) == (3, None)


def test_a_passage_that_was_rewritten_shows_and_a_deleted_one_keeps_its_text(house: House) -> None:
    agent = house.agent()
    (passage,) = house.services.passages.create_for(agent.id, CreatePassage(text="The key hangs behind the clock."))
    (other,) = house.services.passages.create_for(agent.id, CreatePassage(text="Tea at five."))
    audit = MemoryAudit(house.stores)
    assert {report.subject: report.version for report in audit.check() if report.kind == "passage"} == {
        passage.id: 1,
        other.id: 1,
    }
    house.services.passages.delete_of(agent.id, other.id, key_id="key-1")
    found = {report.subject: report for report in audit.check() if report.kind == "passage"}
    assert (found[other.id].version, found[other.id].fault, found[passage.id].fault) == (2, None, None)
    key = Key(f"default#ARCH#{passage.archive_id}", f"PASSAGE#{passage.id}")
    item: Item | None = house.table.get(key)
    assert item is not None
    house.table.write(Put({**item, "body": str(item["body"]).replace("clock", "mirror")}))
    found = {report.subject: report for report in audit.check() if report.kind == "passage"}
    assert found[passage.id].fault == "version 1: the record is not what it left"
    house.services.archives.delete(passage.archive_id or "")
    assert [report for report in audit.check() if report.kind == "passage"] == []
