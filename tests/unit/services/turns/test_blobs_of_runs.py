"""What is large about a run lies in one blob for as long as something names it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from hibernaut.ports.storage.table import Delete, Key
from hibernaut.schemas.runs.send import ClientToolCreate
from hibernaut.store.table import blob_keys, keys
from tests.support.clocks import ManualClock
from tests.support.scripted_model import calls, in_turn, says
from tests.support.world import TENANT, World, data_in

LARGE = ClientToolCreate(name="lamp", description="x" * 80_000, parameters={"type": "object", "properties": {}})


def insert(text: str) -> object:
    return calls(("memory_insert", {"label": "human", "new_string": text}))


def lying_in(world: World, prefix: str) -> list[str]:
    return [blob for blob in world.data.blobs.kept if blob.startswith(prefix)]


def test_a_run_with_large_client_tools_has_one_blob_after_many_commits(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(insert("a"), insert("b"), insert("c"), says("done"))))
    agent = world.make_agent(blocks={"human": ""}, tools=["memory_insert"])
    run = world.send(agent, "hello", client_tools=[LARGE])
    assert world.run(run).run.steps == 4
    item = world.data.table.get(keys.run(TENANT, run))
    assert item is not None
    assert lying_in(world, blob_keys.RECORDS) == [item["blob"]]


def test_what_was_journaled_at_length_goes_when_it_has_expired(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(insert("y" * 70_000), insert("y"), says("done"))))
    agent = world.make_agent(blocks={"human": ""}, tools=["memory_insert"])
    run = world.send(agent, "hello")
    assert lying_in(world, blob_keys.EPHEMERAL)
    for item in world.data.table.query(keys.run(TENANT, run).pk, names=("ttl",)):
        if "ttl" in item:
            world.data.table.write(Delete(Key(str(item["pk"]), str(item["sk"]))))
    clock = world.clock
    assert isinstance(clock, ManualClock)
    clock.time += timedelta(days=blob_keys.EPHEMERAL_DAYS)
    world.sweep()
    assert not lying_in(world, blob_keys.EPHEMERAL)
