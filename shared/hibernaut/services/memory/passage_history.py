"""The history of passages. A passage never changes: it is created, deleted, and brought back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.memory.version import Author, PassageVersion, Rollback, StoredVersion
from hibernaut.schemas.memory.version_faults import VersionConflict, VersionExpired
from hibernaut.services.memory.archives import Archives
from hibernaut.services.records import Records
from hibernaut.store.stores import TenantStores
from hibernaut.store.versions.history import recorded
from hibernaut.store.versions.version_store import Edit

MOST_LIVES = 100
"""The largest number of ended lives of a passage that are read."""


class PassageHistory:
    """The use cases of the versions of passages."""

    def __init__(self, stores: TenantStores, records: Records, archives: Archives) -> None:
        self._passages = stores.passages
        self._store = stores.archives
        self._records = records
        self._archives = archives

    def versions(self, archive_id: str, passage_id: str, *, at: datetime | None = None) -> Sequence[PassageVersion]:
        """The retained versions of a passage, newest first; with `at`, the one in force at that time. Raises: NotFound for the
        archive; NotFound if the passage is not known, VersionExpired if no version of that time is retained.
        """
        self._archives.retrieve(archive_id)
        found = self._all_versions(archive_id, passage_id)
        if not found:
            raise NotFound(f"Passage with id '{passage_id}' not found in archive '{archive_id}', and no version of it is kept.")
        if at is None:
            return found
        in_force = [one for one in found if one.at is not None and one.at <= at]
        if not in_force and found[-1].change == "created":
            raise NotFound(f"Passage {passage_id} was created after the requested time.")
        if not in_force:
            raise VersionExpired(f"The version of passage {passage_id} at that time is not kept any more, or was never recorded.")
        return in_force[:1]

    def _all_versions(self, archive_id: str, passage_id: str) -> list[PassageVersion]:
        def version_of(stored: StoredVersion | None, number: int, passage: Passage | None) -> PassageVersion:
            if stored is None:
                return PassageVersion(
                    version=number, change="unrecorded", at=None, archive_id=archive_id, passage_id=passage_id, passage=passage
                )
            return PassageVersion(**dict(recorded(stored)), archive_id=archive_id, passage_id=passage_id, passage=passage)

        found: list[PassageVersion] = []
        current = self._passages.version(archive_id, passage_id)
        if current is not None:
            found.append(version_of(current[1], 1, current[0]))
        for past in self._passages.past_versions(archive_id, passage_id, MOST_LIVES):
            found += [version_of(past.ended, 0, None), version_of(past.made, past.ended.version - 1, past.passage)]
        return found

    def rollback(self, archive_id: str, passage_id: str, request: Rollback, *, key_id: str | None = None) -> PassageVersion:
        """Restore a deleted passage from a version. Raises: NotFound, VersionExpired; VersionConflict if its version is not the
        `current_version` of the request; Conflict if the passage is there; InvalidArgument for the version of a deletion.
        """
        found = self.versions(archive_id, passage_id)
        newest = found[0]
        if request.current_version not in (None, newest.version):
            raise VersionConflict(
                f"CONFLICT: Passage {passage_id} has version {newest.version}, not {request.current_version}.", newest.version
            )
        if newest.change != "deleted":
            raise Conflict(
                f"CONFLICT: Passage {passage_id} is there. A passage does not change, so there is nothing to bring back."
            )
        target = next((one for one in found if one.version == request.version), None)
        if target is None:
            raise VersionExpired(f"Version {request.version} of passage {passage_id} is not kept any more.")
        if target.passage is None:
            raise InvalidArgument(f"INVALID_ARGUMENT: Version {request.version} deleted the passage, so it has no text.")
        (past,) = self._passages.past_versions(archive_id, passage_id, 1)
        edit, token = Edit(Author(source="api", key_id=key_id), "rolled_back", request.version), self._records.ids.token()
        try:
            self._records.writer.write(*self._store.restore(archive_id, target.passage, edit, past.ended, token), token=token)
        except ConditionFailed:
            raise Conflict(
                f"CONFLICT: Passage {passage_id} or its archive was changed at the same time; read it again."
            ) from None
        return self.versions(archive_id, passage_id)[0]
