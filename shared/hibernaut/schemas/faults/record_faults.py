"""The error of a record whose body is missing."""

from hibernaut.schemas.errors import HibernautError


class RecordLost(HibernautError, KeyError):
    """The item of a record names a blob that is missing. `record`: the record's id. It is also a KeyError: readers skip records
    that are deleted meanwhile.
    """

    code = "record_lost"

    def __init__(self, record: str) -> None:
        self.record = record
        super().__init__(
            f"The stored content of {record} is missing: its object among the large contents was deleted. Restore it from a backup, or delete the record."
        )

    def __str__(self) -> str:
        return self.detail
