"""Composes what installs the packages of tools."""

from __future__ import annotations

from pathlib import Path

from hibernaut.adapters.addresses import AddressPolicy
from hibernaut.adapters.packages.builder import PackageBuilder
from hibernaut.adapters.packages.limits import PackageLimits
from hibernaut.adapters.packages.package_folders import PackageFolders
from hibernaut.adapters.packages.package_index import PackageIndex
from hibernaut.ports.clock import Clock
from hibernaut.wiring.configuration.tool_settings import PackageSettings

FOLDER = "packages"
"""The folder of installed packages in the data folder."""


def builder_of(settings: PackageSettings, policy: AddressPolicy, clock: Clock) -> PackageBuilder | None:
    """What builds sets of packages; None if none are installed. `policy`: the private addresses that clients may name."""
    if not settings.index:
        return None
    return PackageBuilder(PackageIndex(settings.index, policy), clock, PackageLimits(size=settings.size))


def folders_of(data: Path, settings: PackageSettings, policy: AddressPolicy, clock: Clock) -> PackageFolders:
    """The packages of a data folder."""
    return PackageFolders(data / FOLDER, builder_of(settings, policy, clock), clock)
