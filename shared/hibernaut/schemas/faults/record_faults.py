"""The errors of large contents: one is missing, or their store is out of reach."""

from hibernaut.schemas.errors import HibernautError, StoreUnavailable


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


class BlobsUnavailable(StoreUnavailable, OSError):
    """The store of large contents does not answer, refuses, or is full. It is also an OSError, as all failures of blob stores."""

    def __str__(self) -> str:
        return self.detail
