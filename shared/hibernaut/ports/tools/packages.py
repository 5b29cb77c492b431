"""The installation of Python packages that tools require."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from hibernaut.schemas.faults.package_faults import PackagesRefused
from hibernaut.schemas.tools.package_set import PackageSet


class PackageInstaller(Protocol):
    """Chooses packages and makes them ready for the sandbox. Thread-safe."""

    @property
    def target(self) -> str:
        """The Python and the platform that packages are chosen for."""

    def install(self, tenant: str, requirements: Sequence[str]) -> PackageSet:
        """Choose wheels for the requirements (`domain.tools.package_requirements`) and for their dependencies, and install them.

        Raises: PackagesRefused, PackageIndexUnavailable, PackagesPending. After an error nothing remains on the disk.
        """


class PackageArchiver(Protocol):
    """Builds a set as one file. Thread-safe."""

    def archive(self, requirements: Sequence[str], find: Callable[[str], PackageSet | None]) -> tuple[PackageSet, bytes | None]:
        """The set that meets the requirements, and its zip file; None where `find` knows the set by its digest.

        Raises: PackagesRefused, PackageIndexUnavailable, OSError.
        """


class NoPackageInstaller:
    """The installer of a deployment that installs no packages."""

    target = ""

    def install(self, tenant: str, requirements: Sequence[str]) -> PackageSet:
        del tenant, requirements
        raise PackagesRefused("pip_requirements: this server installs no packages (HIBERNAUT_PACKAGE_INDEX is none).")


NO_PACKAGES = NoPackageInstaller()
