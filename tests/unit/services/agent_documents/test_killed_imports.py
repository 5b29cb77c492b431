"""An import is completed or leaves nothing, wherever its process dies, and whoever works on it at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hibernaut.ports.storage.table import Table
from hibernaut.schemas.errors import ImportContinues
from hibernaut.services.imports import import_writer, staged_logs
from hibernaut.services.imports.import_writer import ImportWriter
from hibernaut.store.templates import import_keys
from tests.support.agent_documents import exported, imported, lasting, world_in
from tests.support.agent_file_parts import agent, block, call, file_of, message, returned, talked, tool
from tests.support.agent_file_shapes import SKILLS
from tests.support.tables import Watched
from tests.support.world import World


class Died(BaseException):
    """The process."""


def die() -> None:
    raise Died


def extension() -> dict[str, Any]:
    """Two archives, one of both agents, with passages for several transactions; an identity; two conversations of the first
    agent.
    """
    shared = [{"text": f"passage {number}", "tags": [f"tag {number % 4}"]} for number in range(7)]
    rows = [message(number, "user" if number % 2 else "assistant", f"beside {number}") for number in range(20, 26)]
    beside = {"summary": "beside", "messages": rows, "in_context_message_ids": [rows[-1]["id"]]}
    private = {"block_id": "block-0", "block": block(9, "human", "private")}
    ann = {"identifier_key": "ann", "name": "Ann", "identity_type": "user"}
    return {
        "archives": [{"id": "archive-0", "name": "shared", "passages": shared}, {"id": "archive-1", "name": "own"}],
        "identities": [{"id": "identity-0", **ann}],
        "agents": {
            "agent-0": {
                "archive_ids": ["archive-1", "archive-0"],
                "identity_ids": ["identity-0"],
                "conversations": [{**beside, "isolated_blocks": [private]}, {"summary": "empty"}],
            },
            "agent-1": {"archive_ids": ["archive-0"]},
        },
    }


def document() -> dict[str, Any]:
    """Two agents that share blocks, with an extension, tools, a folder with a file, skills, and messages for several
    transactions.
    """
    rows = [message(number, "user" if number % 2 else "assistant", f"row {number}") for number in range(1, 12)]
    calls = [message(12, "assistant", None, tool_calls=[call("c1", door="x")]), returned(13, "c1")]
    first = talked(
        *rows,
        *calls,
        block_ids=["block-0", "block-1"],
        tool_ids=["tool-0", "tool-1"],
        source_ids=["source-0"],
        tags=[f"tag {n}" for n in range(70)],
    )
    first["files_agents"] = [{"id": "f", "file_id": "file-0", "is_open": True}]
    config = {"manager_type": "sleeptime", "manager_agent_id": "agent-0", "sleeptime_agent_frequency": 5}
    group = {"id": "group-0", "agent_ids": ["agent-1"], "description": "", "manager_config": config}
    second = agent(id="agent-1", name="Second", block_ids=["block-0"], tool_ids=["tool-0"])
    return {"hibernaut": extension()} | file_of(
        first,
        second,
        groups=[group],
        blocks=[block(0, "human"), block(1, "persona")],
        tools=[tool(0, "knock"), tool(1, "enter")],
        sources=[{"id": "source-0", "name": "papers"}],
        files=[{"id": "file-0", "source_id": "source-0", "file_name": "a.txt", "content": "one\ntwo\n"}],
        skills=SKILLS,
    )


def seen(world: World) -> list[Any]:
    """All agents of the table as files."""
    return [lasting(exported(world, str(row["sk"]), full_history=True)) for row in world.stores.agents.rows()]


def nothing_is_left(world: World) -> bool:
    stores = world.stores
    lists = (
        stores.agents.listed(),
        stores.blocks.listed(),
        stores.folders.listed(),
        stores.groups.listed(),
        stores.archives.listed(),
        stores.identities.listed(),
    )
    return not any(one.count() for one in lists) and not stores.tools.by_name(["knock", "enter"])


def no_import_is_left(world: World) -> bool:
    return not any(key.sk == import_keys.IMPORT for key in world.all_stores.due.all())


def no_plan_is_left(world: World) -> bool:
    """Whether the blobs of all plans are gone, at the latest when the collector has come by."""
    world.clock.sleep(timedelta(days=2).total_seconds())
    world.sweep()
    return not any("/IMPORT/" in entry.key for entry in world.data.blobs.list("", limit=1_000))


@pytest.fixture(scope="module", autouse=True)
def small_transactions() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_writer, "ROWS", 5)
        patch.setattr(staged_logs, "PASSAGES", 6)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], int]:
    """What the import becomes, and the number of its writes."""
    world, watched = watched_in(tmp_path_factory.mktemp("whole"))
    assert len(imported(world, document()).agent_ids) == 2
    assert no_import_is_left(world)
    return seen(world), watched.writes


def watched_in(folder: Path) -> tuple[World, Watched]:
    tables: list[Watched] = []

    def wrap(table: Table) -> Table:
        tables.append(Watched(table))
        return tables[-1]

    return world_in(folder, wrap=wrap), tables[0]


@pytest.mark.parametrize("answered", [False, True])
def test_a_killed_import_leaves_nothing_or_is_completed(answered: bool, whole: tuple[list[Any], int], tmp_path: Path) -> None:
    expected, writes = whole
    for at in range(writes):
        world, watched = watched_in(tmp_path / str(at))
        watched.at, watched.act, watched.after = at, die, answered
        with pytest.raises(Died):
            imported(world, document())
        after = world.reborn()
        after.sweep()
        assert no_import_is_left(after), at
        assert nothing_is_left(after) if at == 0 and not answered else seen(after) == expected, at
        assert no_plan_is_left(after), at


def test_two_workers_of_an_import_write_it_once(whole: tuple[list[Any], int], tmp_path: Path) -> None:
    expected, writes = whole
    for at in range(1, writes):
        world, watched = watched_in(tmp_path / str(at))
        other = world.reborn()

        def overtake(other: World = other) -> None:
            for key in other.all_stores.due.all():
                if key.sk == import_keys.IMPORT:
                    ImportWriter(other.stores, other.host).go_on(key.pk.rpartition("#")[2])

        watched.at, watched.act = at, overtake
        try:
            imported(world, document())
        except ImportContinues:
            pytest.fail("the other worker has completed it")
        assert no_import_is_left(other), at
        assert seen(other) == expected, at


def test_an_import_that_its_worker_has_just_written_to_is_left_to_it(tmp_path: Path) -> None:
    world, watched = watched_in(tmp_path)
    watched.at, watched.act = 3, die
    with pytest.raises(Died):
        imported(world, document())
    other = world.reborn()
    other.engines.sweep.run()
    assert nothing_is_left(other)
