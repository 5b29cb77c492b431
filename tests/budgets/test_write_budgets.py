"""How many write units a turn takes from each partition of the table and of its indexes.

DynamoDB gives a partition 1,000 write units a second ("Best practices for designing and using partition keys effectively"). The
aim is 1,000 agents of one tenant with ten messages a second each: a partition that agents share may take a tenth of a unit a
turn, one of an agent's own 100.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Table
from hibernaut.schemas.agents.conversation_record import CreateConversation
from hibernaut.store.table import shards
from tests.protocol.staged import INSERT
from tests.support.conversations import begin_in, conversations_of
from tests.support.scripted_model import Script, in_turn, says
from tests.support.world import World, data_in
from tests.support.write_meter import WriteMeter

A_SECOND = 1000
"""Write units of a partition."""
AGENTS, MESSAGES = 1000, 10
SHARED = A_SECOND / (AGENTS * MESSAGES)
OWN = A_SECOND / MESSAGES
TURNS = 12
UNSHARED = re.compile(r"default#(AGENT|AGENTMSGS|BLOCK|CONV|CONVSMESSAGED|CONVSRAN|RUN|TAIL)#[a-z]+-[0-9a-f-]{36}")
SHARD = re.compile(r"#[0-9a-f]{2}$")
SCRIPTS = {"a reply": [says("Hello.")], "a reply after an edit of memory": [INSERT, says("Done.")]}


@contextmanager
def metered(folder: Path, script: Script, *, indexed: bool = False) -> Iterator[tuple[World, WriteMeter]]:
    meters: list[WriteMeter] = []

    def wrap(table: Table) -> WriteMeter:
        meters.append(WriteMeter(table))
        return meters[-1]

    yield World(data_in(folder, script), wrap=wrap, indexed=indexed), meters[0]


def a_turn_each(world: World, meter: WriteMeter, send: Callable[[str], object]) -> Counter[str]:
    """The units of a turn of each of some agents, which have said something before."""
    agents = [world.make_agent(blocks={"human": "Ann"}, tools=("memory_insert",)) for _ in range(TURNS)]
    for agent_id in agents:
        send(agent_id)
    world.clock.sleep(1)
    meter.units.clear()
    for agent_id in agents:
        send(agent_id)
    return meter.units


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("indexed", [False, True])
def test_no_partition_that_agents_share_takes_more_than_a_tenth_of_a_unit_a_turn(
    tmp_path: Path, name: str, indexed: bool
) -> None:
    with metered(tmp_path, in_turn(*SCRIPTS[name] * 2 * TURNS), indexed=indexed) as (world, meter):
        units = a_turn_each(world, meter, lambda agent_id: world.send(agent_id, "hello"))
    assert too_hot(units) == {}


def test_a_turn_in_another_conversation_heats_no_shared_partition_either(tmp_path: Path) -> None:
    with metered(tmp_path, in_turn(*SCRIPTS["a reply after an edit of memory"] * 2 * TURNS)) as (world, meter):
        threads = dict[str, str]()

        def send(agent_id: str) -> None:
            threads[agent_id] = (
                threads.get(agent_id) or conversations_of(world).openings.create(agent_id, CreateConversation()).id
            )
            begin_in(world, agent_id, threads[agent_id], "hello")
            world.workflow.drive()

        units = a_turn_each(world, meter, send)
    assert too_hot(units) == {}
    assert {"default#CONVSBYMSG", "default#CONVSBYRUN"} <= {SHARD.sub("", pk) for pk in units}


def test_messages_of_a_default_conversation_have_no_further_place(tmp_path: Path) -> None:
    with metered(tmp_path, in_turn(*SCRIPTS["a reply"] * 2 * TURNS)) as (world, meter):
        units = a_turn_each(world, meter, lambda agent_id: world.send(agent_id, "hello"))
    assert [pk for pk in units if pk.startswith(("default#AGENTMSGS#", "default#CONVS"))] == []


def too_hot(units: Counter[str]) -> dict[str, float]:
    """The units a turn of one partition of each sharded list, and of each other shared partition, that exceed the aim."""
    own = {pk: count for pk, count in units.items() if UNSHARED.fullmatch(pk)}
    assert max(own.values()) <= OWN
    shared: Counter[str] = Counter()
    for pk, count in units.items():
        if pk not in own:
            shared[SHARD.sub("#SHARD", pk)] += count
    each = {name: count / TURNS / partitions(name) for name, count in shared.items()}
    assert {"DUE#SHARD", "default#MSGS#SHARD", "default#AGENTSRAN#SHARD"} <= set(each)
    return {name: count for name, count in each.items() if count > SHARED}


def partitions(name: str) -> int:
    noun = name.removeprefix("default#").removesuffix("#SHARD")
    return shards.shards_of(noun) if name.endswith("#SHARD") else 1


@pytest.mark.parametrize("noun", ["DUE", "MSGS"])
def test_ids_fall_evenly_into_the_shards_whatever_their_time_is(tmp_path: Path, noun: str) -> None:
    world = World(data_in(tmp_path, in_turn()))
    ids = [world.ids.new("run") for _ in range(20_000)]
    falls = Counter(shards.shard_of(noun, one) for one in ids)
    assert len(falls) == shards.shards_of(noun) >= 64
    assert max(falls.values()) < 1.3 * len(ids) / len(falls)
