"""What a run uses of AWS, in the units that AWS charges for. Must not know prices."""

from typing import Self

from hibernaut.schemas.base import Frozen


class AwsUse(Frozen):
    """The billed use of AWS. `gigabyte_seconds` is the time of functions times their memory; `transitions` are the transitions of
    the state machine. The units of a table include the units of its indexes.
    """

    read_units: float = 0
    write_units: float = 0
    gigabyte_seconds: float = 0
    invocations: int = 0
    gateway_requests: int = 0
    transitions: int = 0
    blob_reads: int = 0
    blob_writes: int = 0

    def plus(self, other: Self) -> "AwsUse":
        """The sum."""
        return AwsUse(**{name: getattr(self, name) + getattr(other, name) for name in AwsUse.model_fields})

    def minus(self, other: Self) -> "AwsUse":
        """The difference, which may be below zero where `other` was an estimate."""
        return AwsUse(**{name: getattr(self, name) - getattr(other, name) for name in AwsUse.model_fields})
