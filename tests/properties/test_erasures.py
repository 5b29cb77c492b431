"""Erasing a person, whatever was said before and whoever dies over it: no row, blob or value of the index has the person's
marker, and others keep theirs.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.schemas.agents.agent_version import ForkAgent
from hibernaut.schemas.agents.conversation_record import CreateConversation
from hibernaut.schemas.agents.schedule import CreateSchedule
from hibernaut.schemas.agents.template import TemplateFromAgent
from hibernaut.schemas.memory.block import BlockUpdate, CreateBlock
from hibernaut.services.memory.memory_audit import MemoryAudit
from tests.support.deletions import Died
from tests.support.erasures import KEPT, MARK, Registry
from tests.support.tables import CountingTable


class Life:
    """What happens before an erasure, to an agent of the person's own, to one that she shares, and to a stranger's."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.person, self.other = registry.person(), registry.person(KEPT)
        self.own = registry.agent(self.person)
        self.shared = registry.agent(self.person, self.other, said=KEPT)
        self.stranger = registry.agent(said=KEPT)

    def live(self, name: str) -> None:
        getattr(self, name)()

    def say(self) -> None:
        self.registry.say(self.own)

    def say_much(self) -> None:
        self.registry.say(self.own, MARK * 6_000)

    def note(self) -> None:
        self.registry.say(self.own, f"{MARK}, note it")

    def archive(self) -> None:
        self.registry.say(self.own, f"{MARK}, archive it")

    def say_to_shared(self) -> None:
        self.registry.say(self.shared, f"{MARK}, archive it", sender=self.person)
        self.registry.say(self.shared, f"{KEPT}, archive it", sender=self.other)

    def say_to_a_stranger(self) -> None:
        self.registry.say(self.stranger, MARK * 6_000, sender=self.person)
        self.registry.say(self.stranger, KEPT)

    def agent_to_agent(self) -> None:
        self.registry.say(self.stranger, MARK, sender=self.own)

    def another_conversation(self) -> None:
        made = self.registry.services.conversations.openings.create(self.own, CreateConversation())
        self.registry.say(self.own, conversation=made.id)
        shared = self.registry.services.conversations.openings.create(self.shared, CreateConversation())
        self.registry.say(self.shared, sender=self.person, conversation=shared.id)

    def fork_conversation(self) -> None:
        for agent in (self.own, self.shared):
            fork = self.registry.services.conversations.openings.fork(agent)
            self.registry.say(agent, sender=self.person, conversation=fork.id)

    def fork_agent(self) -> None:
        last = self.registry.world.log(self.own)[-1]
        self.registry.services.agent_forks.fork(self.own, ForkAgent(message_id=last.id, name=f"copy of {MARK}"))

    def passage(self) -> None:
        self.registry.passage(self.own)
        self.registry.passage(self.stranger, KEPT)

    def folder(self) -> None:
        with suppress(Exception):  # its name is taken
            self.registry.folder_with_file(self.own)

    def edit_block(self) -> None:
        block = self.registry.services.agents.blocks(self.own)[0]
        self.registry.services.blocks.update(block.id, BlockUpdate(value=f"{MARK} again"))

    def drop_block(self) -> None:
        made = self.registry.services.blocks.create(CreateBlock(label=f"n{self.registry.world.ids.token()[:6]}", value=MARK))
        self.registry.services.agents.updates.attach_block(self.own, made.id)
        self.registry.services.blocks.delete(made.id)

    def lend_block(self) -> None:
        made = self.registry.services.blocks.create(CreateBlock(label=f"n{self.registry.world.ids.token()[:6]}", value=MARK))
        self.registry.services.identities.links.attach_block(self.person, made.id)
        self.registry.services.agents.updates.attach_block(self.stranger, made.id)
        self.registry.say(self.stranger, KEPT)

    def schedule(self) -> None:
        for agent in (self.own, self.shared):
            message = {"role": "user", "content": MARK, "sender_id": self.person}
            body = {"messages": [message], "schedule": {"type": "rate", "rate_expression": "5 days"}}
            self.registry.services.schedules.create(agent, CreateSchedule.model_validate(body), None)

    def template(self) -> None:
        asked = TemplateFromAgent(type="agent", agent_id=self.own, name=f"t{self.registry.world.ids.token()[:6]}")
        self.registry.services.templates.create(asked)

    def rest(self) -> None:
        self.registry.rest(self.own, self.shared, self.stranger)


DEEDS = sorted(name for name in vars(Life) if name not in ("live",) and not name.startswith("_"))


class Mortal:
    """Ends the process before its n-th write (0: never)."""

    def __init__(self, writes: int = 0) -> None:
        self.left = writes

    def called(self, _number: int, kind: str) -> None:
        if kind == "before write" and self.left:
            self.left -= 1
            if not self.left:
                raise Died

    def wrap(self, table: object) -> CountingTable:
        return CountingTable(table, self.called)  # type: ignore[arg-type]


def erased(life: Life, kills: list[int]) -> Registry:
    """Erase the person by processes that die at these writes, then by one that does not. Returns the last process."""
    registry, erasure_id = life.registry, f"erasure-{life.person[-36:]}"
    for writes in kills:
        registry = registry.reborn(Mortal(writes).wrap)
        with suppress(Died):
            registry.services.erasures.begin(life.person)
            registry.world.sweep()
        registry.data.clock.sleep(90)
    registry = registry.reborn()
    registry.services.erasures.begin(life.person)
    registry.finish(erasure_id)
    return registry


def check(registry: Registry, life: Life) -> None:
    erasure = registry.services.erasures.get(f"erasure-{life.person[-36:]}")
    assert registry.marked() == []
    assert (erasure.state, erasure.check and erasure.check.found) == ("completed", [])
    assert {report.fault for report in MemoryAudit(registry.stores).check()} <= {None}
    registry.say(life.shared, KEPT, sender=life.other)
    registry.say(life.stranger, KEPT)


@settings(max_examples=6, deadline=None)
@given(st.lists(st.sampled_from(DEEDS), max_size=8), st.lists(st.integers(1, 60), max_size=2))
def test_nothing_of_a_person_is_left_whatever_happened_before(deeds: list[str], kills: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        life = lived(Path(folder), *deeds)
        last = erased(life, kills)
        check(last, life)
        last.close()
        last.data.table.close()  # type: ignore[attr-defined]


def test_nothing_of_a_person_is_left_after_everything_happened(tmp_path: Path) -> None:
    life = lived(tmp_path, *DEEDS)
    last = erased(life, [])
    check(last, life)
    last.close()


@pytest.mark.parametrize("survives", [23, 41])
def test_workers_that_survive_only_some_writes_come_to_an_end(tmp_path: Path, survives: int) -> None:
    life, deaths = lived(tmp_path, "say", "say_to_shared", "another_conversation", "passage", "folder", "lend_block"), 0
    registry = life.registry
    while deaths < 60:
        registry = registry.reborn(Mortal(survives).wrap)
        try:
            registry.services.erasures.begin(life.person)
            registry.world.sweep()
        except Died:
            deaths += 1
            registry.data.clock.sleep(90)
            continue
        break
    assert 1 < deaths < 60, "every attempt makes progress"
    last = erased(life, [])
    check(last, life)
    last.close()


@pytest.mark.parametrize("write", range(1, 96, 7))
def test_a_worker_may_die_at_any_write(tmp_path: Path, write: int) -> None:
    life = lived(tmp_path, "say", "say_to_shared", "say_to_a_stranger", "passage", "folder", "lend_block", "schedule", "template")
    last = erased(life, [write])
    check(last, life)
    last.close()


def lived(folder: Path, *deeds: str) -> Life:
    life = Life(Registry(folder))
    for deed in deeds:
        life.live(deed)
    life.registry.feed()
    return life
