"""No due run waits for ever behind others, however little a sweep has time for, and whatever stands in the index beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.ports.storage.table import Update
from hibernaut.services.runs.sweep import MARGIN
from hibernaut.store.table import keys
from tests.protocol.staged import opened
from tests.support.scripted_model import in_turn
from tests.support.world import TENANT, World

BESIDE = ("unreadable", "held", "lost")
"""A run whose record is damaged; one whose worker holds its lease for hours; one whose every start is lost."""


def begun(world: World, kind: str) -> str:
    run_id = world.accept(world.make_agent(), "hello").run_id
    if kind == "unreadable":
        world.data.table.write(Update(keys.run(TENANT, run_id), set={"body": "{"}))
    if kind == "held":
        lease = int(world.clock.now().timestamp() * 1000) + 10 * 3_600_000
        world.data.table.write(Update(keys.run(TENANT, run_id), set={"lease": lease, "holder": world.host.holder}))
    return run_id


def time_for(items: int) -> Callable[[], float]:
    left = iter([MARGIN] * items)
    return lambda: next(left, 0.0)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.lists(st.sampled_from(BESIDE), max_size=8),
    later=st.lists(st.sampled_from(BESIDE), max_size=8),
    budget=st.integers(1, 3),
)
def test_a_due_run_is_taken_up_after_at_most_as_many_sweeps_as_there_are_older_items(
    tmp_path_factory: object, before: list[str], later: list[str], budget: int
) -> None:
    folder: Path = tmp_path_factory.mktemp("data")  # type: ignore[attr-defined]
    world, agent_id = opened(folder, in_turn())
    for kind in before:
        begun(world, kind)
        world.clock.sleep(1)
    wanted = world.accept(agent_id, "hello").run_id
    coming = iter(later)
    sweeps = 0
    while all(run.run_id != wanted for run in world.workflow.started):
        world.clock.sleep(70)
        world.engines.sweep.run(time_left=time_for(budget))
        sweeps += 1
        assert sweeps <= len(before) + 1, f"{wanted} still waits"
        if kind := next(coming, None):
            begun(world, kind)
