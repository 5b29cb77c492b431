"""Erasing a person: what is theirs goes everywhere, what is others' stays, and a receipt says what went."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.domain.wire.listing import Page
from hibernaut.schemas.agents.erasure import ErasureLine
from hibernaut.schemas.agents.erasure_faults import ErasureRunning
from hibernaut.schemas.agents.group import GroupCreate
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.memory.version import NotedHead
from hibernaut.services.erasures.erasure_parts import LEASE_MS
from hibernaut.services.erasures.erasures import FEW_AGENTS
from hibernaut.services.memory.memory_audit import MemoryAudit
from tests.support.erasures import KEPT, MARK, Registry


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    made = Registry(tmp_path)
    yield made
    made.close()


def test_nothing_of_a_person_with_an_agent_of_their_own_is_left(registry: Registry) -> None:
    person = registry.person()
    agent = registry.agent(person)
    for text in (MARK, f"{MARK}, note it", f"{MARK}, archive it", MARK * 6_000):
        registry.say(agent, text)
    registry.passage(agent)
    registry.folder_with_file(agent)
    registry.feed()
    assert len(registry.marked()) > 20
    erasure = registry.erase(person)
    assert registry.marked() == []
    assert (erasure.state, erasure.check and erasure.check.found) == ("completed", [])
    assert erasure.totals["agents_whole"] == 1
    assert erasure.totals["messages"] > 5
    with pytest.raises(NotFound):
        registry.services.identities.get(person)


def test_a_check_of_a_small_erasure_is_over_with_its_request(registry: Registry) -> None:
    person = registry.person()
    registry.agent(person)
    registry.erase(person)
    erasures = registry.services.erasures
    (known,) = erasures.list(Page())
    checked = erasures.check(known.id).check
    assert checked is not None
    assert (checked.state, checked.found) == ("completed", [])


def test_what_others_said_stays(registry: Registry) -> None:
    person, other = registry.person(), registry.person(KEPT)
    registry.say(registry.agent(person))
    theirs = registry.agent(other, said=KEPT)
    registry.say(theirs, KEPT)
    registry.passage(theirs, KEPT)
    registry.folder_with_file(theirs, KEPT)
    registry.feed()
    before = registry.marked(KEPT)
    registry.erase(person)
    assert registry.marked(KEPT) == before


def test_an_agent_of_two_persons_loses_what_one_of_them_said(registry: Registry) -> None:
    person, other = registry.person(), registry.person(KEPT)
    shared = registry.agent(person, other, said=KEPT)
    registry.say(shared, KEPT, sender=other)
    registry.say(shared, f"{MARK}, archive it", sender=person)
    registry.say(shared, MARK, sender=f"{MARK}@example.org")
    registry.say(shared, KEPT, sender=other)
    registry.feed()
    erasure = registry.erase(person)
    assert registry.marked() == []
    texts = [row.text() for row in registry.world.log(shared) if row.role in ("user", "assistant")]
    assert [KEPT in text for text in texts].count(True) == 4
    assert registry.stores.agents.get(shared).identity_ids == [other]  # type: ignore[union-attr]
    assert {line.kind: line.extent for line in erasure.receipt} == {"agent": "parts", "passage": "whole"}
    registry.say(shared, KEPT, sender=other)


def test_messages_are_refused_while_an_erasure_runs(registry: Registry) -> None:
    person = registry.person()
    agent, *_ = [registry.agent(person) for _ in range(FEW_AGENTS + 1)]
    another = registry.agent(said=KEPT)
    begun = registry.services.erasures.begin(person)
    with pytest.raises(ErasureRunning) as refused:
        registry.say(agent)
    assert refused.value.erasure_id == begun.id
    with pytest.raises(ErasureRunning):
        registry.say(another, sender=person)
    with pytest.raises(ErasureRunning):
        registry.services.agent_pauses.resume(agent)
    registry.say(another, KEPT)
    assert registry.services.erasures.begin(person).id == begun.id, "a second request finds the first"
    registry.finish(begun.id)
    assert registry.services.erasures.begin(person).state == "completed"


def test_what_stops_one_of_a_page_stops_no_other(registry: Registry) -> None:
    begun = registry.services.erasures.begin(registry.person())
    parts, erasure = registry.services.erasures._parts, registry.stores.erasures.get(begun.id)
    assert erasure is not None
    first, deleted, last = (registry.agent(said=KEPT) for _ in range(3))
    registry.services.agents.delete(deleted)
    parts.pause_all(erasure, [first, deleted, last])
    assert [registry.stores.pauses.get(agent) is None for agent in (first, deleted, last)] == [False, True, False]
    parts.begin(begun.id, ErasureLine(kind="block", id="block-1", counts={"versions": 2}))
    parts.plan(begun.id, "block", ["block-0", "block-1", "block-2"])
    assert {line.id: line.counts for line in registry.stores.erasures.lines(begun.id)} == {
        "block-0": {},
        "block-1": {"versions": 2},
        "block-2": {},
    }


def test_an_audit_tells_what_was_erased_and_finds_the_other_chains_whole(registry: Registry) -> None:
    person, other = registry.person(), registry.person(KEPT)
    agent, theirs = registry.agent(person), registry.agent(other, said=KEPT)
    registry.say(agent, f"{MARK}, note it")
    registry.say(theirs, f"{KEPT}, note it")
    audit = MemoryAudit(registry.stores)
    noted = [NotedHead.model_validate(report.model_dump()) for report in audit.check()]
    erasure = registry.erase(person)
    reports = {report.subject: report for report in audit.check(noted=noted)}
    assert {report.fault for report in reports.values()} == {None}
    gone = {line.id for line in erasure.receipt if line.extent == "whole"}
    assert {subject for subject, report in reports.items() if report.erasure == erasure.id} == gone
    forged = [head.model_copy(update={"version": head.version + 1}) for head in noted if head.subject == agent]
    assert {report.fault for report in audit.check(noted=forged) if report.subject == agent} != {None}


@pytest.mark.parametrize("kind", ["round_robin", "dynamic"])
def test_a_group_loses_what_a_person_said_and_what_its_agents_answered(registry: Registry, kind: str) -> None:
    person, other = registry.person(), registry.person(KEPT)
    members = [registry.agent(said=KEPT, name=f"member-{number}") for number in range(2)]
    config = {"manager_type": kind} | ({"manager_agent_id": registry.agent(said=KEPT, name="chair")} if kind == "dynamic" else {})
    body = {"agent_ids": members, "description": "A round.", "manager_config": config}
    group = registry.services.groups.create(GroupCreate.model_validate(body))
    registry.say_to_group(group.id, MARK, sender=person)
    registry.say_to_group(group.id, KEPT, sender=other)
    registry.feed()
    assert len(registry.marked()) > 3
    erasure = registry.erase(person)
    assert registry.marked() == []
    assert {line.id for line in erasure.receipt if line.extent == "parts"} >= {group.id}
    assert any(KEPT in row.text() for row in registry.world.log(group.id))
    registry.say_to_group(group.id, KEPT, sender=other)


def test_a_request_leaves_an_erasure_to_the_worker_that_holds_it(registry: Registry) -> None:
    person = registry.person()
    registry.say(registry.agent(person))
    begun = registry.services.erasures.begin(person)
    assert (begun.state, begun.phase) == ("running", "check"), "the index has not forgotten yet"
    held = registry.world.stores.erasures.get(begun.id)
    assert held is not None
    registry.services.erasures.work._store(held, held, LEASE_MS)
    registry.feed()
    assert registry.services.erasures.begin(person).state == "running"
    registry.data.clock.sleep(LEASE_MS / 1000)
    assert registry.services.erasures.begin(person).state == "completed"
