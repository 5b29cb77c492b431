"""The table that the release before left: this one reads it, finishes what is under way, and gives every item a version."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.storage.table import Key, Put, Update
from hibernaut.schemas.errors import NewerFormat
from hibernaut.schemas.stop import RunStatus
from hibernaut.store.events import event_keys
from hibernaut.store.stores import Stores
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.formats import ATTRIBUTE, READ, WRITTEN
from tests.releases.items import ITEMS, Names, client_of, loaded, play, recorded
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock
from tests.support.scripted_model import calls, says
from tests.support.world import TENANT, World

BEFORE = Path(__file__).parent / "before" / ITEMS
COUNTERS = {"USED", "TAG"}
"""In the keys of items that updates create, and that hold counts alone: they have no version."""
LISTS = ("agents", "blocks", "tools", "archives", "folders", "runs", "steps", "conversations")


@pytest.fixture
def before(tmp_path: Path) -> tuple[World, Names]:
    """A worker of this release over the table of the one before."""
    return loaded(BEFORE, tmp_path, calls(("knock", {"x": "front"})), says("Done."))


def test_the_runs_that_the_release_before_left_are_finished(before: tuple[World, Names]) -> None:
    world, names = before
    world.sweep()
    ended = client_of(world).get("/v1/runs/?limit=100").json()
    assert {run["status"] for run in ended} == {RunStatus.COMPLETED}
    assert ("knock", {"x": "back"}) not in world.runner.effects, "its claim says that it was made"
    assert "tool" in [row.role for row in world.log(names.stopped)]


def test_an_approval_that_the_release_before_asked_for_is_answered(before: tuple[World, Names]) -> None:
    world, names = before
    request = world.log(names.asking)[-1]
    world.answer(names.asking, {"type": "approval", "tool_call_id": request.tool_calls[0].id, "approve": True})
    world.workflow.drive()
    assert world.log(names.asking)[-1].role == "assistant"


def test_everything_that_the_release_before_wrote_is_listed_and_shown(before: tuple[World, Names]) -> None:
    world, names = before
    http = client_of(world)
    for noun in LISTS:
        found = http.get(f"/v1/{noun}/").json()
        assert found, noun
    log = http.get(f"/v1/agents/{names.talked}/messages?limit=100").json()
    assert sum(len(str(message.get("content", ""))) for message in log) > 64_000, "the long letter was in a blob"
    assert "She lives in Oslo." in http.get(f"/v1/agents/{names.talked}/core-memory/blocks/human").json()["value"]
    assert world.budgets.get("tenant").requests_per_second == 100
    assert "clock" in http.get(f"/v1/agents/{names.talked}/archival-memory").text


def test_an_agent_of_the_release_before_talks_on(before: tuple[World, Names]) -> None:
    world, names = before
    run = world.send(names.talked, "And now?")
    assert world.run(run).run.status == RunStatus.COMPLETED


def test_the_recorded_items_are_of_the_kinds_that_a_story_leaves_today(tmp_path: Path) -> None:
    old = json.loads(BEFORE.read_text(encoding="utf-8"))["items"]
    new = recorded(*play(tmp_path))["items"]
    assert {kind(item) for item in old} <= {kind(item) for item in new}


def kind(item: dict[str, object]) -> tuple[str, str]:
    """What an item is: its partition and sort key without ids."""
    pk, sk = (re.sub(r"[0-9a-f-]{20,}|[0-9a-f]{2}$", "", str(item[name])) for name in ("pk", "sk"))
    return pk.split("#")[1] if "#" in pk else pk, sk.split("#")[0]


def test_every_item_that_is_written_has_the_version_of_its_format(tmp_path: Path) -> None:
    items = recorded(*play(tmp_path))["items"]
    without = {kind(item) for item in items if ATTRIBUTE not in item}
    assert [names for names in without if not COUNTERS & set(names)] == []
    assert {item[ATTRIBUTE] for item in items if ATTRIBUTE in item} == {WRITTEN}


def test_an_update_of_a_body_sets_its_version(before: tuple[World, Names]) -> None:
    world, names = before
    agent = keys.agent(TENANT, names.talked)
    world.data.table.write(Update(agent, set={ATTRIBUTE: WRITTEN - 1}))
    stored = world.stores.agents.get(names.talked)
    assert stored is not None
    after = stored.model_copy(update={"version": stored.version + 1, "name": "Grace"})
    world.stores.writer.write(*world.stores.agents.change(stored, after, "token"), token="token")
    item = world.data.table.get(agent)
    assert item is not None
    assert item[ATTRIBUTE] == WRITTEN


def test_an_item_of_a_newer_format_is_refused_and_left_as_it_is(before: tuple[World, Names]) -> None:
    world, names = before
    agent = keys.agent(TENANT, names.talked)
    world.data.table.write(Update(agent, set={ATTRIBUTE: READ + 1, "body": "of tomorrow"}))
    with pytest.raises(NewerFormat, match=f"has format {READ + 1}, and this release reads formats up to {READ}"):
        world.stores.agents.get(names.talked)
    answer = client_of(world).get(f"/v1/agents/{names.talked}")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
    assert dict(world.data.table.get(agent) or {})["body"] == "of tomorrow"


def test_items_have_a_version_also_under_the_credentials_of_their_tenant(tmp_path: Path) -> None:
    table, blobs = SqliteTable(tmp_path / "table.db"), MemoryBlobs()
    stores = Stores(table, blobs, ManualClock(), engines_of=lambda _: (table, blobs))
    own = stores.of(TENANT)
    _, put = own.imports.create("import-1", b"data", 0, "t")
    own.writer.write(put, token="t")
    assert dict(table.get(put.key) or {})[ATTRIBUTE] == WRITTEN
    for place in (put.key, event_keys.webhook(TENANT, "webhook-1")):
        table.write(Put({"pk": place.pk, "sk": place.sk, ATTRIBUTE: READ + 1}))
    with pytest.raises(NewerFormat):
        own.imports.get("import-1")
    with pytest.raises(NewerFormat):
        stores.of(TENANT).webhooks.all()
    table.close()


def test_a_run_that_meets_a_newer_format_stays_open(before: tuple[World, Names]) -> None:
    world, names = before
    run = world.begin(names.talked, "Hello?")
    world.data.table.write(Update(keys.agent(TENANT, names.talked), set={ATTRIBUTE: READ + 1}))
    reborn = world.reborn()
    reborn.workflow.started.append(world.workflow.started.popleft())
    reborn.workflow.drive()
    assert world.run(run).run.status == RunStatus.RUNNING


def test_an_item_without_a_version_is_read_as_the_first_format(before: tuple[World, Names]) -> None:
    world, _ = before
    world.data.table.write(Put({"pk": f"{TENANT}#TOOLNAMES", "sk": "old", "tool": "tool-1"}))
    assert world.all_stores._table.get(Key(f"{TENANT}#TOOLNAMES", "old")) is not None
