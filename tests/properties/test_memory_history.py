"""Versions of a block: replayed they give its value at each time, and no edit, rollback, lost answer or kill leaves a gap or a
broken link.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hibernaut.schemas.memory.block import BlockUpdate
from hibernaut.schemas.memory.version import Rollback
from hibernaut.services.memory.block_history import VersionPage
from tests.support.deletions import Died
from tests.support.histories import Histories
from tests.support.scripted_model import calls, in_turn, says
from tests.support.tables import CountingTable
from tests.support.world import World

KILLS = st.sampled_from(["", "", "", "before write", "after write"])
LONG = {"long": "x" * 70_000}
"""Longer than what an item holds; drawn by its name."""
VALUES = st.sampled_from(["", "Oslo", "Oslo\nBergen", "long"])


@dataclass(frozen=True)
class Edit:
    """A change of the block: new values, or a rollback to one of the versions that there are (a share of them). `killed`: where
    its worker dies.
    """

    values: dict[str, str] | None
    back: float = 0.0
    minutes: int = 0
    killed: str = ""


EDITS = st.one_of(
    st.builds(
        Edit,
        st.fixed_dictionaries(
            {}, optional={"value": VALUES, "description": st.sampled_from(["d", "e"]), "label": st.sampled_from(["a", "b"])}
        ),
        minutes=st.integers(0, 3),
        killed=KILLS,
    ),
    st.builds(Edit, st.none(), st.floats(0, 1), st.integers(0, 3), KILLS),
)


@dataclass
class Expected:
    """What each version must be, by a model that knows nothing of the table."""

    versions: list[tuple[datetime, dict[str, str]]] = field(default_factory=list)

    def at(self, moment: datetime) -> dict[str, str]:
        return [values for at, values in self.versions if at <= moment][-1]


class Mortal:
    """Ends the process at the next write, before or after it."""

    at = ""

    def called(self, _number: int, kind: str) -> None:
        if kind == self.at:
            self.at = ""
            raise Died


@settings(max_examples=60, deadline=None)
@given(st.lists(EDITS, max_size=12))
def test_versions_replay_to_the_value_at_each_time_and_their_chain_holds(edits: list[Edit]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        mortal = Mortal()
        kept = Histories(Path(folder), wrap=lambda table: CountingTable(table, mortal.called))
        block = kept.block("first", description="d")
        expected = Expected([(kept.world.clock.now(), {"value": "first", "description": "d", "label": "notes"})])
        for edit in edits:
            kept.world.clock.sleep(60 * edit.minutes)
            play(kept, block.id, edit, expected, mortal)
        check(kept, block.id, expected)
        kept.table.close()  # type: ignore[attr-defined]


def play(kept: Histories, block_id: str, edit: Edit, expected: Expected, mortal: Mortal) -> None:
    newest = expected.versions[-1][1]
    given = {name: LONG.get(value, value) for name, value in (edit.values or {}).items()}
    if edit.values is None:
        number = 1 + round(edit.back * (len(expected.versions) - 1))
        after = expected.versions[number - 1][1]
    else:
        after = newest | given
    mortal.at = edit.killed
    with suppress(Died):
        if edit.values is None:
            kept.history.rollback(block_id, Rollback(version=number, current_version=len(expected.versions)))
        else:
            kept.blocks.update(block_id, BlockUpdate(**given))
    mortal.at = ""
    if edit.killed != "before write" and edit.values != {}:
        expected.versions.append((kept.world.clock.now(), after))


def check(kept: Histories, block_id: str, expected: Expected) -> None:
    listed = kept.history.page(block_id, VersionPage(limit=100, descending=False))
    assert [each.version for each in listed] == list(range(1, len(expected.versions) + 1)), "no gap, none twice"
    for number, (at, values) in enumerate(expected.versions, 1):
        shown = kept.history.version(block_id, number).block
        assert shown is not None
        assert {name: getattr(shown, name) for name in values} == values
        then = kept.history.at(block_id, at).block
        assert then is not None
        assert {name: getattr(then, name) for name in values} == expected.at(at)
    assert kept.fault(block_id) is None


@pytest.mark.parametrize("write", range(1, 12))
def test_a_run_that_is_killed_at_any_write_leaves_one_version_of_its_edit(tmp_path: Path, write: int) -> None:
    script = in_turn(calls(("memory_insert", {"label": "human", "new_string": "Lives in Oslo."})), says("Done."), says("Done."))
    left = [write]

    def called(_number: int, kind: str) -> None:
        if kind.endswith("write"):
            left[0] -= 1
            if left[0] == 0:
                raise Died

    kept = Histories(tmp_path, script)
    agent = kept.world.make_agent(blocks={"human": "Ann."}, tools=("memory_insert",))
    dying = World(kept.world.data, wrap=lambda table: CountingTable(table, called))
    run = ""
    with suppress(Died):
        run = dying.begin(agent, "I moved.")
        dying.workflow.drive()
    kept.world.reborn().sweep()
    block = kept.world.block(agent, "human")
    assert kept.fault(block.id) is None
    edited = kept.history.page(block.id, VersionPage())[:-1]
    assert [each.version for each in edited] in ([2], [])
    if run:
        assert [each.version.version for each in kept.run_versions.of(run)] == [each.version for each in edited]
