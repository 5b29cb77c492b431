"""Beside an index that shows late what was written: whatever happens in whatever order, a search finds each record that exists,
once.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.late_memories import LateMemories
from tests.support.memories import ARCHIVE, Killed
from tests.support.world import TENANT

REFRESHED_WITHIN = 60
"""Seconds: a collection refreshes that often."""
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "delete", "deliver", "deliver", "retake", "die before put", "die after put"]),
        st.integers(min_value=0, max_value=REFRESHED_WITHIN),
    ),
    min_size=4,
    max_size=25,
)


def act(late: LateMemories, there: dict[str, str], what: str, number: int) -> None:
    match what:
        case "write":
            text = f"water {number}"
            (made,) = late.memory.write("passage", text)
            there[made] = text
        case "delete" if there:
            gone = sorted(there)[number % len(there)]
            late.memory.delete("passage", gone)
            del there[gone]
        case "deliver":
            late.delivered()
        case "retake":
            late.retaken()
        case "die before put" | "die after put":

            def dies(call: str) -> None:
                if call == what.removeprefix("die "):
                    raise Killed

            with suppress(Killed):
                late.delivered(dies)


@settings(max_examples=25, deadline=None)
@given(ACTS)
def test_a_search_finds_each_record_once_and_in_the_end_the_index_keeps_one_copy_of_each(acts: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        late, there = LateMemories(Path(folder)), dict[str, str]()
        since_refresh = 0
        for number, (what, seconds) in enumerate(acts):
            if since_refresh + seconds > REFRESHED_WITHIN:
                late.index.refresh()
                since_refresh = 0
            late.memory.clock.sleep(seconds)
            since_refresh += seconds
            act(late, there, what, number)
            assert late.found() == sorted(there.values())
        for _ in range(4):
            late.delivered()
            late.passes()
        late.indexing().of(TENANT).collect_doubles()
        late.passes()
        assert late.standing() == []
        assert late.found() == sorted(there.values())
        assert late.index.copies() == sorted((f"{ARCHIVE}/{one}", 2) for one in there)
        late.memory.close()
