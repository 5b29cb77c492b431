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
from hibernaut.store.versions.version_store import RecordState, VersionStore, read_chain


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
        self._place = place
        self._current = current

    def state(self, number: int) -> VersionState:
        """The record in a version. Raises: NotFound if there is no such version yet; VersionExpired if it is no longer
        retained.
        """
        stored, _, content = self._versions.pair(self._place, number)
        current = self._current
        if current is not None and number == current.number:
            return VersionState(number, current.content, stored)
        if content is not None:
            return VersionState(number, {**content, "id": self._place.subject, "version": number}, stored)
        if stored is not None and stored.change == "deleted":
            return VersionState(number, None, stored)
        raise self._missing(number)

    def _missing(self, number: int) -> NotFound | VersionExpired:
        newest = self._newest_number()
        if number > newest or number < 1:
            return NotFound(f"{self._place.subject} has no version {number}. Its newest version is {newest}.")
        return VersionExpired(f"Version {number} of {self._place.subject} is not kept any more.")

    def _newest_number(self) -> int:
        if self._current is not None:
            return self._current.number
        newest = self._versions.newest(self._place)
        if newest is None:
            raise NotFound(f"{self._place.subject} does not exist, and no version of it is kept.")
        return newest.version

    def at(self, moment: datetime) -> VersionState:
        """The record as it was at a time. Raises: NotFound if it was not there yet; VersionExpired if its version is no longer
        retained.
        """
        head = read_chain(self._current.chain) if self._current else None
        if self._current and head and head.number == self._current.number and head.at and head.at <= moment:
            return self.state(head.number)
        oldest = self._versions.oldest(self._place)
        if oldest is None or oldest.at > moment:
            return self._before(oldest, moment)
        return self.state(self._in_force(oldest, moment))

    def _in_force(self, oldest: StoredVersion, moment: datetime) -> int:
        """The number of the newest version that is not younger than the moment. Each probe halves the numbers that are left."""
        low, high = oldest.version, self._newest_number() + 1
        while high - low > 1:
            middle = (low + high) // 2
            found = self._versions.page(self._place, after=middle - 1, before=high, limit=1, descending=False)
            if found and found[0].at <= moment:
                low = found[0].version
            else:
                high = middle
        return low

    def _before(self, oldest: StoredVersion | None, moment: datetime) -> VersionState:
        """The record before its oldest version, which may have been changed last before the moment."""
        if oldest is not None and oldest.change == "created":
            raise NotFound(f"{self._place.subject} was created at {oldest.at.isoformat()}, after the requested time.")
        number = oldest.version - 1 if oldest else self._newest_number()
        state = self.state(number)
        if state.content is None or _changed_at(state.content) > moment:
            raise VersionExpired(
                f"The version of {self._place.subject} at that time is not kept any more, or was never recorded."
            )
        return state

    def page(self, *, after: int | None, before: int | None, limit: int, descending: bool) -> list[RecordVersion]:
        """The versions with after < number < before. A record of older data begins with an unrecorded version.

        Raises: NotFound if there is neither the record nor a version of it.
        """
        found = self._versions.page(self._place, after=after, before=before, limit=limit, descending=descending)
        if not found and self._current is None:
            self._newest_number()
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
