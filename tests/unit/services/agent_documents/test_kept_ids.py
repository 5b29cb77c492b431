"""Imports that keep the ids of their file: a repeated import adds nothing, wherever the first one died."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hibernaut.schemas.errors import Conflict, InvalidArgument
from tests.support.agent_documents import exported, imported, lasting
from tests.support.agent_file_parts import agent, block, file_of, message, talked, tool
from tests.support.world import World
from tests.unit.services.agent_documents.test_killed_imports import Died, die, no_import_is_left, watched_in

UUID = "00000001-0000-4000-8000-00000000000{}"
ADA, BEA = f"agent-{UUID.format(1)}", f"agent-{UUID.format(2)}"
SHARED, OWN = f"block-{UUID.format(1)}", f"block-{UUID.format(2)}"
FOLDER, FILE, GROUP, TOOL = (
    f"source-{UUID.format(1)}",
    f"file-{UUID.format(1)}",
    f"group-{UUID.format(1)}",
    f"tool-{UUID.format(1)}",
)
CONVERSATION = f"conv-{UUID.format(1)}"


def document() -> dict[str, Any]:
    """Two agents with a shared block, a group, a tool, a folder with a file, an archive, and a further conversation."""
    rows = [message(number, "user" if number % 2 else "assistant", f"row {number}") for number in range(1, 6)]
    first = talked(*rows, block_ids=[SHARED, OWN], tool_ids=[TOOL], source_ids=[FOLDER])
    first |= {"id": ADA, "files_agents": [{"id": "f", "file_id": FILE, "is_open": True}], "created_at": "2025-03-01T08:00:00Z"}
    config = {"manager_type": "supervisor", "manager_agent_id": ADA}
    beside = {"id": CONVERSATION, "messages": [message(6, "user", "Only here.")], "in_context_message_ids": ["message-6"]}
    archive = {"id": "archive-0", "name": "shelf", "passages": [{"text": "one"}, {"text": "two"}]}
    further = {"archives": [archive], "agents": {ADA: {"archive_ids": ["archive-0"], "conversations": [beside]}}}
    return file_of(
        first,
        agent(id=BEA, name="Bea", block_ids=[SHARED]),
        hibernaut=further,
        groups=[{"id": GROUP, "agent_ids": [BEA], "description": "", "manager_config": config}],
        blocks=[{**block(0, "persona"), "id": SHARED}, {**block(1, "human"), "id": OWN}],
        tools=[{**tool(0, "knock"), "id": TOOL}],
        sources=[{"id": FOLDER, "name": "papers"}],
        files=[{"id": FILE, "source_id": FOLDER, "file_name": "a.txt", "content": "one\ntwo\n"}],
    )


def keep(world: World, value: Any, **options: Any) -> Any:
    return imported(world, value, keep_ids=True, append_copy_suffix=False, **options)


def seen(world: World) -> Any:
    """Everything that the document is about, and how much there is of it."""
    stores = world.stores
    lists = (stores.agents.listed(), stores.blocks.listed(), stores.folders.listed(), stores.groups.listed())
    agents = [lasting(exported(world, one, full_history=True)) for one in (ADA, BEA)]
    return agents, [one.count() for one in lists], len(stores.files.rows(FOLDER)), [row.text() for row in world.log(ADA)][1:]


def test_records_keep_their_ids_and_agents_their_times(world: World) -> None:
    assert keep(world, document()).agent_ids == [ADA, BEA]
    stores = world.stores
    ada = stores.agents.get(ADA)
    assert ada is not None
    assert (ada.block_ids, ada.tool_ids[0], ada.source_ids, ada.created_at.year) == ([SHARED, OWN], TOOL, [FOLDER], 2025)
    assert set(stores.blocks.get_many([SHARED, OWN])) == {SHARED, OWN}
    assert stores.groups.get(GROUP) is not None
    assert list(stores.files.desk(ADA).open) == [FILE]
    assert [row.text() for row in stores.conversations.page(CONVERSATION)][1:] == ["Only here."]


def test_a_repeated_import_adds_nothing(world: World) -> None:
    keep(world, document())
    before = seen(world)
    again = keep(world, document())
    assert again.agent_ids == [ADA, BEA]
    assert {note.code: note.count for note in again.notes} == {"agent_exists": 2, "tool_exists": 1}
    assert seen(world) == before


@pytest.mark.parametrize("answered", [False, True])
def test_an_import_that_is_repeated_after_its_process_died_adds_nothing(answered: bool, tmp_path: Path) -> None:
    world, watched = watched_in(tmp_path / "whole")
    keep(world, document())
    expected, writes = seen(world), watched.writes
    for at in range(writes):
        world, watched = watched_in(tmp_path / str(at))
        watched.at, watched.act, watched.after = at, die, answered
        with pytest.raises(Died):
            keep(world, document())
        after = world.reborn()
        assert keep(after, document()).agent_ids == [ADA, BEA]
        assert seen(after) == expected, at
        after.sweep()
        assert seen(after) == expected, at
        assert no_import_is_left(after), at


def test_a_reservation_ends_with_the_import(world: World) -> None:
    keep(world, document())
    assert world.stores.imports.reserved_by([ADA, BEA]) == []


def test_an_agent_that_another_import_has_reserved_is_not_written_twice(world: World) -> None:
    world.stores.writer.write(*world.stores.imports.reserve(ADA, "import-of-another")[:1])
    with pytest.raises(Conflict, match=ADA):
        keep(world, document())
    assert world.stores.agents.get(ADA) is None


def test_a_block_that_was_deleted_is_not_brought_back(world: World) -> None:
    keep(world, {**document(), "agents": []})
    stored = world.stores.blocks.get(OWN)
    assert stored is not None
    world.stores.writer.write(*world.stores.blocks.delete(stored, world.clock.now(), "t"), token="t")
    done = keep(world, document())
    assert world.stores.blocks.get(OWN) is None
    assert {note.code for note in done.notes} >= {"block_deleted", "reference"}


def test_a_file_whose_ids_are_kept_needs_no_agent_and_has_at_most_30(world: World) -> None:
    assert keep(world, {"agents": []}).agent_ids == []
    assert keep(world, {"agents": [], "blocks": [{**block(0, "loose"), "id": OWN}]}).agent_ids == []
    assert world.stores.blocks.get(OWN) is not None
    with pytest.raises(InvalidArgument, match="30 agents, not 31"):
        keep(world, {"agents": [agent(id=f"agent-{number}") for number in range(31)]})


def test_a_tool_of_another_name_does_not_lose_its_id(world: World) -> None:
    keep(world, document())
    other = {**tool(0, "enter"), "id": TOOL}
    keep(world, {"agents": [], "tools": [other]})
    found = world.stores.tools.by_name(["knock", "enter"])
    assert found["knock"].id == TOOL
    assert found["enter"].id != TOOL


def test_an_agent_at_the_end_of_the_calendar_keeps_its_archives(world: World) -> None:
    shelves = [{"id": f"archive-{number}", "name": f"shelf {number}", "passages": []} for number in range(2)]
    further = {"archives": shelves, "agents": {ADA: {"archive_ids": ["archive-0", "archive-1"]}}}
    keep(world, file_of(agent(id=ADA, created_at="9999-12-31T23:59:59.999999Z"), hibernaut=further))
    assert len(world.stores.archives.of_agent(ADA)) == 2
    assert world.stores.agents.get(ADA).created_at == world.clock.now()
