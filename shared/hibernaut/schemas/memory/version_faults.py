"""The errors of versions, as parts of the tree in `schemas/errors.py`."""

from hibernaut.schemas.errors import Conflict, HibernautError


class VersionConflict(Conflict):
    """The record has another version than the caller decided on; `current_version` is its number."""

    code = "version_conflict"

    def __init__(self, detail: str, current_version: int) -> None:
        self.current_version = current_version
        super().__init__(detail)


class VersionExpired(HibernautError):
    """The version of a record is older than the retention, or was never recorded (410)."""

    code = "version_expired"
