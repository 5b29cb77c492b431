"""What a run changed: versions of blocks and of its agent's settings, and the passages that it inserted.

The run's record names the versions of blocks and agents that it wrote. Its passages are found by their ids, which begin with the
time at which they were made, and by their versions, which name the run: so an insert costs a turn nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import chain, islice
from typing import NamedTuple

from hibernaut.domain.memory import versions
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.faults.run_faults import no_run
from hibernaut.schemas.ids import as_of, is_id
from hibernaut.schemas.memory.version import RunVersion
from hibernaut.schemas.memory.version_faults import VersionExpired
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.services.records import Records
from hibernaut.store.agents.agents import state_of as state_of_agent
from hibernaut.store.memory.blocks import state_of as state_of_block
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.versions.history import History, VersionState, recorded, shown_state
from hibernaut.store.versions.version_store import VersionPair, content_of

MOST_PASSAGES = 10_000
"""The largest number of passages of an archive that are looked at for one run."""
_SLACK = timedelta(minutes=1)
"""How far the clocks of two machines may differ: one accepts a run, another makes the ids of its passages."""
_FIRST = "passage-00000000-0000-4000-8000-000000000000"
_SHOWN = ("text", "tags", "metadata")


class _Place(NamedTuple):
    """The entry after which a page begins: the id of its record, and its version."""

    subject: str
    number: int


class RunVersions:
    """The versions that runs wrote."""

    def __init__(self, stores: TenantStores, records: Records) -> None:
        self._runs = stores.runs
        self._passages = stores.passages
        self._records = records

    def of(self, run_id: str, *, after: str | None = None, limit: int = 50) -> Sequence[RunVersion]:
        """What a run changed, by record and version, with the differences. Expired versions are left out, and passages of
        archives that its agent does not have any more.

        `after`: the id of a record, a colon, and a version, of the last entry of the page before. Raises: NotFound,
        InvalidArgument.
        """
        state = self._runs.get(run_id) if is_id(run_id, "run") else None
        if state is None:
            raise no_run(run_id)
        place = _place(after)
        return list(islice(chain(self._numbered(state.run, place, limit), self._inserted(state.run, place)), limit))

    def _numbered(self, run: StoredRun, after: _Place, limit: int) -> Iterator[RunVersion]:
        """The versions of blocks and of the agent. As many are read together as the page may need."""
        remaining = [
            _Place(subject, number)
            for subject in sorted(run.memory_versions)
            for first, last in run.memory_versions[subject]
            for number in range(first, last + 1)
            if _Place(subject, number) > after
        ]
        histories: dict[str, History] = {}
        for start in range(0, len(remaining), limit):
            wanted = remaining[start : start + limit]
            new = [subject for subject in dict.fromkeys(place.subject for place in wanted) if subject not in histories]
            histories |= self._histories(new)
            pairs = self._records.versions.pairs([(histories[one.subject].place, one.number) for one in wanted])
            for one, pair in zip(wanted, pairs, strict=True):
                if (found := _of_version(histories[one.subject], one.number, pair)) is not None:
                    yield found

    def _histories(self, subjects: Sequence[str]) -> dict[str, History]:
        """The histories of these agents and blocks, by id, read together."""
        records = self._records
        agent_ids = [one for one in subjects if one.startswith("agent-")]
        block_ids = [one for one in subjects if not one.startswith("agent-")]
        agents = records.agents.get_many(agent_ids) if agent_ids else {}
        blocks = records.blocks.get_many(block_ids) if block_ids else {}
        states = {one.id: state_of_agent(one) for one in agents.values()} | {
            one.id: state_of_block(one) for one in blocks.values()
        }
        places = {one: records.agents.history(one) for one in agent_ids} | {one: records.blocks.history(one) for one in block_ids}
        return {one: History(records.versions, place, states.get(one)) for one, place in places.items()}

    def _inserted(self, run: StoredRun, after: _Place) -> Iterator[RunVersion]:
        begin = max(as_of(_FIRST, run.created_at - _SLACK), after.subject)
        end = as_of(_FIRST, run.completed_at + _SLACK) if run.completed_at else None
        archives = [archive.id for archive in self._records.archives.open_of_agent(run.agent_id)]
        found = self._passages.made_by_run(archives, run.id, IdRange(begin, end), MOST_PASSAGES)
        for archive_id, passage, stored_version in sorted(found, key=lambda one: one[1].id):
            content: JsonObject = {name: one for name, one in content_of(passage).items() if name in _SHOWN}
            changes = versions.differences({}, content)
            yield RunVersion(archive_id=archive_id, passage_id=passage.id, version=recorded(stored_version), changes=changes)


def _of_version(history: History, number: int, pair: VersionPair) -> RunVersion | None:
    """What a version of a block or an agent changed; None if it is not retained."""
    stored, subject = pair.stored, history.place.subject
    if stored is None:
        return None
    try:
        content = pair.after if pair.after is not None else history.state_in(number, pair).content or {}
    except (NotFound, VersionExpired):
        return None
    version, changes = shown_state(VersionState(number, content, stored)), versions.differences(pair.before or {}, content)
    if subject.startswith("agent-"):
        return RunVersion(agent_id=subject, version=version, changes=changes)
    label = content.get("label") or (pair.before or {}).get("label")
    return RunVersion(block_id=subject, label=label, version=version, changes=changes)


def _place(after: str | None) -> _Place:
    subject, _, number = (after or ":0").rpartition(":")
    if not number.isdecimal() or len(number) > 15:
        raise InvalidArgument("INVALID_ARGUMENT: `after` must be the id of a record, a colon, and a version, such as block-…:3.")
    return _Place(subject, int(number))
