"""Marks the agents of data that was written before there were marks, orders, or items of last runs, a slice at a time.

Until all of them are marked, lists read all rows instead. A first request marks a slice, so a small data folder is complete at
once; the sweep continues. A round over all rows begins again once a day: it finds what an older version of the server has written
meanwhile.
"""

from __future__ import annotations

from itertools import islice

from hibernaut.ports.storage.table import Item
from hibernaut.services.records import Records
from hibernaut.store.agents.agent_marks import MARKS_AT_ONCE, MarkBuild

ROWS = 2_000
"""The largest number of list rows that one slice reads."""
AGENTS = 100
"""The largest number of agents that one slice marks."""
SLICES = 10
"""The largest number of slices of one sweep."""
PAUSE_MS = 60_000
"""Milliseconds after which the sweep continues an incomplete round."""
ROUND_MS = 24 * 3_600_000
"""Milliseconds after which the next round begins."""


class AgentMarking:
    """The rounds over the agents of one tenant."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._agents = records.agents

    def is_complete(self) -> bool:
        """Whether every agent is marked. If not, marks a slice first."""
        build = self._records.agent_marks.build()
        return build.complete or self._slice(build).complete

    def sweep(self) -> None:
        """Mark slices until the round ends, or their number is reached."""
        for _ in range(SLICES):
            if self._slice(self._records.agent_marks.build()).after == "":
                return

    def _slice(self, build: MarkBuild) -> MarkBuild:
        """Mark the next slice. Returns the progress. Two slices at a time do the same work twice, which does no harm."""
        rows = list(islice(self._agents.listed().walk(build.after or None, first=ROWS), ROWS))
        older = [place for place, row in enumerate(rows) if self._agents.is_older(row)][: AGENTS + 1]
        slice_rows = rows[: older[AGENTS]] if len(older) > AGENTS else rows
        for place in older[:AGENTS]:
            self._mark(rows[place])
        is_over = len(slice_rows) == len(rows) and len(rows) < ROWS
        after = MarkBuild(build.complete or is_over, "" if is_over else str(slice_rows[-1]["sk"]))
        now_ms = int(self._records.clock.now().timestamp() * 1000)
        self._records.writer.write(self._records.agent_marks.built(after, now_ms + (ROUND_MS if is_over else PAUSE_MS)))
        return after

    def _mark(self, row: Item) -> None:
        """Mark one agent, unless it is deleted meanwhile. Raises: Conflict if it keeps changing."""
        agent_id = str(row["sk"])

        def attempt() -> None:
            agent, newest = self._agents.get(agent_id), self._agents.row(agent_id)
            if agent is None or newest is None or "name" not in newest:
                return
            still, marks = self._agents.unchanged(agent), self._records.agent_marks.put(agent)
            for start in range(0, len(marks), MARKS_AT_ONCE):
                self._records.writer.write(*marks[start : start + MARKS_AT_ONCE], still)
            self._records.writer.write(*self._agents.place(agent, newest))

        self._records.until_settled(attempt)
