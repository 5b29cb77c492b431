"""What the tests of packages do: install, be refused, and call a tool with them."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

import pytest

from hibernaut.adapters.addresses import AddressPolicy
from hibernaut.adapters.packages.builder import PackageBuilder
from hibernaut.adapters.packages.limits import MEGABYTE, PackageLimits
from hibernaut.adapters.packages.package_folders import PackageFolders
from hibernaut.adapters.packages.package_index import PackageIndex
from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.ports.tools.tool_runner import ToolJob
from hibernaut.schemas.faults.package_faults import PackagesRefused
from hibernaut.schemas.tools.package_set import PackageSet
from tests.support.clocks import ManualClock
from tests.support.package_index import PackageIndexServer

HERE = AddressPolicy(networks=(ip_network("127.0.0.0/8"),))


def folders_of(index: PackageIndexServer, folder: Path, clock: ManualClock, address: str = "", **limits: float) -> PackageFolders:
    made = PackageBuilder(PackageIndex(address or index.url, HERE), clock, PackageLimits(**{"size": MEGABYTE, **limits}))  # type: ignore[arg-type]
    return PackageFolders(folder, made, clock)


def installed(folders: PackageFolders, *requirements: str) -> dict[str, str]:
    """The versions by project."""
    return {pin.name: pin.version for pin in folders.install("acme", requirements).pins}


def refusal(folders: PackageFolders, *requirements: str) -> str:
    """The text of the refusal, which leaves nothing behind."""
    with pytest.raises(PackagesRefused) as refused:
        folders.install("acme", requirements)
    assert left(folders) == []
    return refused.value.detail.removeprefix("INVALID_ARGUMENT: ")


def left(folders: PackageFolders) -> list[str]:
    folder = folders._folder
    return sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []


def called(packages: PackageSet, folders: PackageFolders, source: str) -> object:
    job = ToolJob("tool", f"def tool():\n    {source}", {}, packages=packages.model_dump(mode="json"))
    outcome = ChildProcessRunner(packages=folders.place).run(job)
    return outcome.value if outcome.status == "success" else outcome.error
