"""Composes the building of packages on AWS: what `build_packages` does, and what its callers need."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.adapters.blobs.s3_downloads import S3Downloads
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.packages.lambda_packages import LambdaPackages
from hibernaut.ports.tools.packages import NO_PACKAGES, PackageInstaller
from hibernaut.services.per_tenant import PerTenant
from hibernaut.store.table import blob_keys
from hibernaut.wiring.settings import AwsSettings

if TYPE_CHECKING:
    from hibernaut.services.tools.package_builds import PackageBuilds

LINK_SECONDS = 900
"""Seconds for which the address of a set can be used: the longest call of a tool."""


def installer_of(settings: AwsSettings) -> PackageInstaller:
    """The installer of the packages of a saved tool."""
    return LambdaPackages(settings.tools.builder) if settings.tools.builder else NO_PACKAGES


class PackageLinks:
    """The addresses of the zip files of sets, for the sandbox."""

    def __init__(self, bucket: str) -> None:
        self._downloads = S3Downloads(bucket)

    def __call__(self, tenant: str, digest: str) -> str:
        """Raises: OSError."""
        return self._downloads.address(blob_keys.package_blob(tenant, f"{digest}.zip"), LINK_SECONDS)


def package_builds() -> PerTenant[PackageBuilds]:
    """For `build_packages`."""
    return _builds(AwsSettings.from_environment())


@cache
def _builds(settings: AwsSettings) -> PerTenant[PackageBuilds]:
    from hibernaut.adapters.packages.archiver import ZipArchiver
    from hibernaut.services.tools.package_builds import PackageBuilds
    from hibernaut.wiring.engines.packages import builder_of

    clock, blobs = SystemClock(), S3Blobs(settings.bucket)
    builder = builder_of(settings.tools.packages, settings.outward.clients, clock)
    if builder is None:
        raise ValueError("HIBERNAUT_PACKAGE_INDEX is none: this function has nothing to build from")
    archiver = ZipArchiver(builder)
    return PerTenant(lambda tenant: PackageBuilds(tenant, blobs, archiver, clock))
