"""What the choice and the installation of one set of packages may use."""

from __future__ import annotations

from hibernaut.ports.clock import Clock
from hibernaut.schemas.faults.package_faults import PackagesRefused
from hibernaut.schemas.immutable import immutable

MEGABYTE = 1024 * 1024
MOST_REQUESTS = 1_000
"""Requests to the index: a page for each project, and the metadata of each version that is tried."""
MOST_FILES = 50_000
"""Files of a set."""
MOST_PACKAGES = 200
"""The largest number of packages of a set, with dependencies."""


@immutable
class PackageLimits:
    """`size`: bytes of the files of a set; `seconds`: from the first request to the last file."""

    size: int = 250 * MEGABYTE
    seconds: float = 120.0


USUAL_LIMITS = PackageLimits()


class InstallQuota:
    """The remaining limits during one installation."""

    def __init__(self, limits: PackageLimits, clock: Clock) -> None:
        self.limits = limits
        self._clock = clock
        self._end = clock.monotonic() + limits.seconds
        # Rejected wheels and pages count too.
        self._bytes = 2 * limits.size + 64 * MEGABYTE
        self._requests = MOST_REQUESTS

    def seconds(self) -> float:
        """The remaining seconds. Raises: PackagesRefused if there are none."""
        remaining = self._end - self._clock.monotonic()
        if remaining <= 0:
            raise PackagesRefused(
                f"The packages could not be chosen and installed within {self.limits.seconds:g} seconds. Require exact versions, or fewer packages."
            )
        return remaining

    def request(self) -> float:
        """Count a request. The seconds that it may take. Raises: PackagesRefused."""
        self._requests -= 1
        if self._requests < 0:
            raise PackagesRefused(
                f"The choice of versions took more than {MOST_REQUESTS} requests to the index. Require exact versions, or narrower ones."
            )
        return self.seconds()

    def received(self, size: int) -> None:
        """Count bytes. Raises: PackagesRefused."""
        self.seconds()
        self._bytes -= size
        if self._bytes < 0:
            raise PackagesRefused(
                f"The index sent more than {(2 * self.limits.size) // MEGABYTE + 64} MB for packages that may have {self.limits.size // MEGABYTE} MB."
            )

    def check_size(self, what: str, size: int) -> None:
        """Raises: PackagesRefused if `size` bytes are more than a set may have."""
        if size > self.limits.size:
            raise PackagesRefused(
                f"{what} would take {_megabytes(size)} MB, and the packages of a tool may take {_megabytes(self.limits.size)} MB in all."
            )


def _megabytes(size: int) -> str:
    return f"{size / MEGABYTE:.3g}" if size < 10 * MEGABYTE else f"{size // MEGABYTE}"
