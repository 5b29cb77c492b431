"""The port by which use cases learn what their invocation has used of AWS."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from hibernaut.schemas.aws_use import AwsUse


class Meter(Protocol):
    """Counts what the invocation of a function uses. An invocation is the context that `invocation` opens, with the threads that
    run in copies of it. Thread-safe.
    """

    def invocation(self, *, of_gateway: bool = False, transitions: int = 0) -> AbstractContextManager[None]:
        """The context of one invocation. `of_gateway`: a request to the gateway caused it. `transitions`: the transitions of the
        state machine into this invocation and out of it.
        """

    def used(self) -> AwsUse | None:
        """What this invocation has used and nobody was charged for; None if nothing is counted here."""

    def charge(self, use: AwsUse) -> None:
        """Note that this much is charged to a run: `used` does not contain it any more."""

    @property
    def in_execution(self) -> bool:
        """Whether the state machine called this invocation."""


class _NoMeter:
    """Counts nothing: the server runs on its owner's machine."""

    in_execution = False

    def invocation(self, *, of_gateway: bool = False, transitions: int = 0) -> AbstractContextManager[None]:
        del of_gateway, transitions
        return nullcontext()

    def used(self) -> AwsUse | None:
        return None

    def charge(self, use: AwsUse) -> None:
        """Does nothing."""


NO_METER: Meter = _NoMeter()
