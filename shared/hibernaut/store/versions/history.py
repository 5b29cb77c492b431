"""The history of one record: its state in a version, and the version in force at a time.

Knows that a version holds the state before it. Must not know the kind of the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.version import RecordVersion, StoredVersion
from hibernaut.schemas.memory.version_faults import VersionExpired
from hibernaut.store.versions.version_keys import VersionPlace
from hibernaut.store.versions.version_store import RecordState, VersionPair, VersionStore, read_chain


@immutable
class VersionState:
    """A record in one version. `content` None: this version deleted it. `stored` None: it was not recorded, or has expired."""

    number: int
    content: JsonObject | None
    stored: StoredVersion | None = None


class History:
    """The history of one record. `current`: the record as it was read; None: it is deleted."""

    def __init__(self, versions: VersionStore, place: VersionPlace, current: RecordState | None) -> None:
        self._versions = versions
        self.place = place
        self._current = current

    def state(self, number: int) -> VersionState:
        """The record in a version. Raises: NotFound if there is no such version yet; VersionExpired if it is no longer
        retained.
        """
        return self.state_in(number, self._versions.pair(self.place, number))

    def state_in(self, number: int, pair: VersionPair) -> VersionState:
        """As `state`, with what was read of the version."""
        current, stored = self._current, pair.stored
        if current is not None and number == current.number:
            return VersionState(number, current.content, stored)
        if pair.after is not None:
            return VersionState(number, {**pair.after, "id": self.place.subject, "version": number}, stored)
        if stored is not None and stored.change == "deleted":
            return VersionState(number, None, stored)
        raise self._missing(number)

    def _missing(self, number: int) -> NotFound | VersionExpired:
        newest = self.newest_number()
        if number > newest or number < 1:
            return NotFound(f"{self.place.subject} has no version {number}. Its newest version is {newest}.")
        return VersionExpired(f"Version {number} of {self.place.subject} is not kept any more.")

    def newest_number(self) -> int:
        """The number of the newest version. Raises: NotFound if there is neither the record nor a version of it."""
        if self._current is not None:
            return self._current.number
        newest = self._versions.newest(self.place)
        if newest is None:
            raise NotFound(f"{self.place.subject} does not exist, and no version of it is kept.")
        return newest.version

    def at(self, moment: datetime) -> VersionState:
        """The record as it was at a time. Raises: NotFound if it was not there yet; VersionExpired if its version is no longer
        retained.
        """
        return states_at(self._versions, [self], moment)[0]

    def unchanged_since(self, moment: datetime) -> int | None:
        """The number of the record's newest version, if it names one that is not younger than the moment."""
        current = self._current
        head = read_chain(current.chain) if current else None
        is_old = current is not None and head is not None and head.number == current.number and head.at and head.at <= moment
        return current.number if current is not None and is_old else None

    def before(self, oldest: StoredVersion | None, moment: datetime) -> VersionState:
        """The record before its oldest version, which may have been changed last before the moment. Raises: as `at`."""
        if oldest is not None and oldest.change == "created":
            raise NotFound(f"{self.place.subject} was created at {oldest.at.isoformat()}, after the requested time.")
        number = oldest.version - 1 if oldest else self.newest_number()
        state = self.state(number)
        if state.content is None or _changed_at(state.content) > moment:
            raise VersionExpired(f"The version of {self.place.subject} at that time is not kept any more, or was never recorded.")
        return state

    def page(self, *, after: int | None, before: int | None, limit: int, descending: bool) -> list[RecordVersion]:
        """The versions with after < number < before. A record of older data begins with an unrecorded version.

        Raises: NotFound if there is neither the record nor a version of it.
        """
        found = self._versions.page(self.place, after=after, before=before, limit=limit, descending=descending)
        if not found and self._current is None:
            self.newest_number()
        records = [recorded(stored) for stored in found]
        first = self._unrecorded(found, after, before) if descending and len(found) < limit else None
        return [*records, first] if first else records

    def _unrecorded(self, found: Sequence[StoredVersion], after: int | None, before: int | None) -> RecordVersion | None:
        """The version before the first recorded one, if it is in the page."""
        if found:
            number = found[-1].version - 1 if found[-1].change != "created" else 0
        else:
            number = self._current.number if self._current and not self._current.chain else 0
        is_in_page = number > (after or 0) and (before is None or number < before)
        return RecordVersion(version=number, change="unrecorded", at=None) if is_in_page else None


def states_at(versions: VersionStore, histories: Sequence[History], moment: datetime) -> list[VersionState]:
    """The records of these histories as they were at a time, in their order. Each round of reads is one for all of them.

    Raises: as `History.at`, for the first record that was not there, or whose version is not retained.
    """
    numbers = {place: number for place, one in enumerate(histories) if (number := one.unchanged_since(moment)) is not None}
    changed = [place for place in range(len(histories)) if place not in numbers]
    oldest = dict(zip(changed, versions.edges([(histories[place].place, None, None) for place in changed]), strict=True))
    spans: dict[int, tuple[int, int]] = {}
    states: dict[int, VersionState] = {}
    for place, first in oldest.items():
        if first is None or first.at > moment:
            states[place] = histories[place].before(first, moment)
        else:
            spans[place] = first.version, histories[place].newest_number() + 1
    numbers |= _in_force(versions, histories, spans, moment)
    pairs = versions.pairs([(histories[place].place, number) for place, number in numbers.items()])
    for (place, number), pair in zip(numbers.items(), pairs, strict=True):
        states[place] = histories[place].state_in(number, pair)
    return [states[place] for place in range(len(histories))]


def _in_force(
    versions: VersionStore, histories: Sequence[History], spans: dict[int, tuple[int, int]], moment: datetime
) -> dict[int, int]:
    """The number of the newest version of each record that is not younger than the moment. `spans`: by the record's place, a
    version that is not younger, and a number after the last that may be. Each probe halves the numbers that are left.
    """
    while wide := {place: span for place, span in spans.items() if span[1] - span[0] > 1}:
        middles = {place: sum(span) // 2 for place, span in wide.items()}
        probes = [(histories[place].place, middles[place] - 1, high) for place, (_, high) in wide.items()]
        for (place, (low, high)), found in zip(wide.items(), versions.edges(probes), strict=True):
            is_old = found is not None and found.at <= moment
            spans[place] = (found.version, high) if found is not None and is_old else (low, middles[place])
    return {place: low for place, (low, _) in spans.items()}


def recorded(stored: StoredVersion) -> RecordVersion:
    """A version as the API shows it."""
    return RecordVersion(
        version=stored.version,
        change=stored.change,
        at=stored.at,
        by=stored.by,
        fields=stored.fields,
        restored_version=stored.restored,
        hash=stored.hash,
        previous_hash=stored.previous or None,
    )


def shown_state(state: VersionState) -> RecordVersion:
    """The version of a state as the API shows it."""
    if state.stored is not None:
        return recorded(state.stored)
    return RecordVersion(version=state.number, change="unrecorded", at=_changed_at(state.content) if state.content else None)


def _changed_at(content: JsonObject) -> datetime:
    return datetime.fromisoformat(str(content["updated_at"]))
