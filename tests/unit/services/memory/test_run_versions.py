"""What a run changed: blocks, its agent's settings, and passages."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.schemas.errors import InvalidArgument, NotFound
from tests.support.histories import Histories
from tests.support.scripted_model import calls, in_turn, says


def test_what_a_run_changed_names_the_run_the_step_and_the_tools(tmp_path: Path) -> None:
    script = in_turn(
        calls(("memory_insert", {"label": "human", "new_string": "Lives in Oslo."})),
        calls(
            ("memory_insert", {"label": "human", "new_string": "Likes tea."}),
            ("memory_replace", {"label": "human", "old_string": "Oslo", "new_string": "Bergen"}),
            ("memory", {"command": "create", "path": "/memories/plans", "description": "d", "file_text": "Travel."}),
        ),
        says("Done."),
    )
    kept = Histories(tmp_path, script)
    agent = kept.world.make_agent(blocks={"human": "Ann."}, tools=("memory_insert", "memory_replace", "memory"))
    run = kept.world.send(agent, "I moved.")
    told = kept.run_versions.of(run)
    made = {each.label: each for each in told if each.version.change == "created"}
    human = [each for each in told if each.label == "human"]
    assert [(each.version.version, each.version.by and each.version.by.tools) for each in human] == [
        (2, ["memory_insert"]),
        (3, ["memory_insert", "memory_replace"]),
    ]
    by = human[1].version.by
    assert by is not None
    assert (by.source, by.run_id, by.agent_id, by.agent_type) == ("run", run, agent, "letta_v1_agent")
    assert by.step_id == kept.stores.steps.of_run(run)[1].id
    assert made["plans"].version.by is not None
    assert made["plans"].version.by.tools == ["memory"]
    (change,) = human[1].changes
    assert "Bergen" in change.after
    assert [
        each.version.version for each in kept.run_versions.of(run, after=f"{human[0].block_id}:2") if each.label == "human"
    ] == [3]
    assert kept.fault(human[0].block_id) is None


def test_a_run_that_changes_no_memory_has_no_versions(tmp_path: Path) -> None:
    kept = Histories(tmp_path, in_turn(says("Hello.")))
    run = kept.world.send(kept.world.make_agent(blocks={"human": "Ann."}), "Hi.")
    assert kept.run_versions.of(run) == []
    with pytest.raises(InvalidArgument):
        kept.run_versions.of(run, after="nonsense")
    with pytest.raises(NotFound):
        kept.run_versions.of("run-00000000-0000-4000-8000-000000000000")


KEEP = ("archival_memory_insert", {"content": "The key hangs behind the clock.", "tags": ["home"]})
MORE = ("archival_memory_insert", {"content": "The cat sleeps on the stove."})
PLAN = ("memory", {"command": "create", "path": "/memories/plans", "description": "d", "file_text": "Travel."})


@pytest.fixture
def kept(tmp_path: Path) -> Histories:
    return Histories(tmp_path, in_turn(calls(KEEP), calls(PLAN, MORE), says("Done."), calls(MORE), says("Again.")))


def test_what_a_run_changed_are_its_agents_settings_blocks_and_passages(kept: Histories) -> None:
    agent = kept.world.make_agent(tools=("archival_memory_insert", "memory"))
    run, other = kept.world.send(agent, "Keep this."), kept.world.send(agent, "And this.")
    settings, block, key, cat = kept.run_versions.of(run)
    assert (settings.agent_id, settings.version.version, [each.field for each in settings.changes]) == (agent, 2, ["block_ids"])
    assert (block.label, block.version.change) == ("plans", "created")
    assert [(each.field, each.before, each.after) for each in key.changes] == [
        ("tags", None, ["home"]),
        ("text", None, "The key hangs behind the clock."),
    ]
    for each in (key, cat):
        assert each.version.by is not None
        assert (each.version.by.run_id, each.version.by.tools) == (run, ["archival_memory_insert"])
    (again,) = kept.run_versions.of(other)
    assert again.passage_id not in (key.passage_id, cat.passage_id)


def test_pages_go_on_behind_any_kind_of_entry(kept: Histories) -> None:
    run = kept.world.send(kept.world.make_agent(tools=("archival_memory_insert", "memory")), "Keep this.")
    whole = kept.run_versions.of(run)
    for at, last in enumerate(whole):
        place = f"{last.agent_id or last.block_id or last.passage_id}:{last.version.version}"
        assert kept.run_versions.of(run, after=place) == whole[at + 1 :]
        assert kept.run_versions.of(run, after=place, limit=1) == whole[at + 1 : at + 2]


def test_a_passage_that_was_deleted_since_is_listed_with_its_text(kept: Histories) -> None:
    run = kept.world.send(kept.world.make_agent(tools=("archival_memory_insert", "memory")), "Keep this.")
    before = kept.run_versions.of(run)
    archive_id, passage_id = str(before[-1].archive_id), str(before[-1].passage_id)
    (item,) = kept.stores.passages.items(archive_id, [passage_id])
    kept.stores.writer.write(*kept.stores.archives.take(archive_id, item, kept.world.clock.now(), "t"))
    assert kept.stores.passages.get_many(archive_id, [passage_id]) == []
    assert kept.run_versions.of(run) == before
