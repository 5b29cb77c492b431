"""Events of a subscribed tenant: whatever dies, each event of a committed transaction is delivered at least once, under one id,
and none is invented.

A process dies before or after one call to the table or to the receiver, at every such call in turn; the next one sweeps. The
truth is what the table holds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Change, Table
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.store.events.event_keys import is_event_work
from hibernaut.store.table.keys import PENDING, last_part
from tests.support.scripted_model import Script, calls, in_turn, says
from tests.support.tables import PassesOn, all_items
from tests.support.webhook_receiver import URL, Hooked, Receiver
from tests.support.world import Data, data_in

Story = Callable[[Hooked, str], None]
MINUTES = 12
ENDED = ("completed", "failed", "cancelled")


class Died(BaseException):
    """The process, in the middle of it."""


@dataclass
class Death:
    """It strikes before or after the call with this number."""

    at: int | None = None
    after: bool = False
    seen: int = 0

    def around(self, call: Callable[[], object]) -> object:
        self.seen += 1
        now = self.seen == self.at
        if now and not self.after:
            raise Died
        result = call()
        if now:
            raise Died
        return result


class Mortal(PassesOn):
    """A table whose writer may die over a write."""

    def __init__(self, table: Table, death: Death) -> None:
        super().__init__(table)
        self._death = death

    def write(self, *changes: Change) -> None:
        self._death.around(lambda: super(Mortal, self).write(*changes))


@dataclass
class MortalCaller(Receiver):
    """A receiver whose caller may die over a call. Its first answer is a failure, so that there is a second try."""

    death: Death = field(default_factory=Death)

    def deliver(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> int:
        heard = super().deliver
        self.answers = 500 if not self.calls else 200
        status = self.death.around(lambda: heard(url, body, headers, seconds=seconds))
        assert isinstance(status, int)
        return status


def edits_memory(world: Hooked, agent: str) -> None:
    world.send(agent, "hello")
    world.relay()


def is_cancelled(world: Hooked, agent: str) -> None:
    run_id = world.accept(agent, "hello").run_id
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    world.relay()


EDITS = calls(("memory_insert", {"label": "human", "new_string": "b"}))
STORIES: Mapping[str, tuple[Script, Story]] = {
    "a run that edits memory": (in_turn(EDITS, says("done")), edits_memory),
    "an approval": (in_turn(calls(("ring", {"x": "1"}))), edits_memory),
    "a cancelled run": (in_turn(says("done")), is_cancelled),
}


@pytest.mark.parametrize("name", STORIES)
def test_after_any_death_each_event_is_delivered_under_one_id_and_none_is_invented(name: str, tmp_path: Path) -> None:
    script, story = STORIES[name]
    points = played(tmp_path / "whole", script, story, Death())
    assert points >= 6
    for at in range(1, points + 1):
        for after in (False, True):
            played(tmp_path / f"{at}{after}", script, story, Death(at, after))


def played(folder: Path, script: Script, story: Story, death: Death) -> int:
    """Play the story, in which one process dies, and check what its receiver heard. Returns the number of calls at which it may
    die.
    """
    data, heard = data_in(folder, script), MortalCaller()
    first = Hooked(data, heard, folder)
    first.hook(url=URL)
    agent = first.make_agent(
        blocks={"human": "a"}, tools=("memory_insert", "ring"), rules=[RequiresApprovalToolRule(tool_name="ring")]
    )
    heard.death = death
    world = Hooked(data, heard, folder, wrap=lambda table: Mortal(table, death))
    with suppress(Died):
        story(world, agent)
    points, death.at = death.seen, None
    follow(data, heard, folder)
    check(data, heard)
    return points


def follow(data: Data, heard: Receiver, folder: Path) -> None:
    """The next process, minute by minute."""
    world = Hooked(data, heard, folder, holder="host:2")
    for _ in range(MINUTES):
        world.clock.sleep(61)
        world.places.kept.clear()
        world.engines.sweep.run()
        world.workflow.drive()
        world.relay()
    assert [place for place in world.all_stores.due.all() if is_event_work(place)] == []


def check(data: Data, heard: Receiver) -> None:
    """What was heard is what the table says is true, each under one id with one body."""
    true = set[tuple[str, str]]()
    for key, item in all_items(data.table).items():
        if key.sk == "RUN" and item["status"] in ENDED:
            true.add(("run.finished", last_part(key.pk)))
        if key.sk == PENDING:
            true.add(("approval.requested", last_part(key.pk)))
        if key.sk == "BLOCK" and int(item["version"]) > 1:
            true.add(("memory.changed", last_part(key.pk)))
    by_id = {call.event["id"]: call.body for call in heard.calls}
    assert all(by_id[call.event["id"]] == call.body for call in heard.calls)
    told = Counter(
        (event["type"], event["data"].get("block_id") or event["data"]["run_id"]) for event in map(json.loads, by_id.values())
    )
    assert set(told) == true
    assert set(told.values()) <= {1}
