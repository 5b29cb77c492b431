"""Which fork shares all that another one shares."""

from __future__ import annotations

import pytest

from hibernaut.domain.window.forks import holds
from hibernaut.schemas.agents.conversation import Segment

SOURCE, OTHER = "conv-1", "conv-2"


def part(after: str | None = None, upto: str = "", *also: str, of: str = SOURCE) -> Segment:
    return Segment(conversation=of, after=after, upto=upto, also=list(also))


@pytest.mark.parametrize(
    ("parts", "others", "expected"),
    [
        ([part(None, "m5")], [part(None, "m5")], True),
        ([part(None, "m5")], [part("m2", "m4")], True),
        ([part("m2", "m5")], [part(None, "m4")], False),
        ([part("m2", "m5")], [part("m1", "m4")], False),
        ([part(None, "m5")], [part(None, "m6")], False),
        ([part(None, "m5", of=OTHER)], [part(None, "m5")], False),
        ([part(None, "m5")], [part(None, "m5", "s1")], False),
        ([part(None, "m5", "s1", of=OTHER)], [part(None, "", "s1")], False),
        ([part(None, "m5", "s1", "s2")], [part("m3", "m5", "s1")], True),
        ([part(None, "", "s1")], [part(None, "", "s1")], True),
        ([part(None, "", "s1")], [part("m1", "m2", "s1")], False),
        ([], [part(None, "m1")], False),
        ([], [], True),
    ],
)
def test_a_fork_holds_what_its_ranges_and_its_pinned_rows_hold(
    parts: list[Segment], others: list[Segment], expected: bool
) -> None:
    assert holds(parts, others) is expected
