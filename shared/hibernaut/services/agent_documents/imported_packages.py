"""The packages of the tools of an import: installed as for a tool that is saved, but an import never fails for lack of them."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.ports.clock import Clock
from hibernaut.ports.tools.packages import PackageInstaller
from hibernaut.schemas.errors import Unavailable
from hibernaut.schemas.faults.package_faults import PackageIndexUnavailable, PackagesPending, PackagesRefused
from hibernaut.schemas.tools.package_set import PackageSet
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.services.tools.tool_packages import ToolPackages

PATIENCE = 5.0
"""Seconds of installations after which an import begins no further one: its request waits for them."""

AGAIN = 5.0
"""Seconds after which a client can request the packages again."""


class ImportInstaller:
    """The `PackageInstaller` of one import. It begins no installation once the index was away, or `PATIENCE` is used up."""

    def __init__(self, installer: PackageInstaller, clock: Clock) -> None:
        self._installer = installer
        self._clock = clock
        self._used = 0.0
        self._away: Unavailable | None = None

    @property
    def target(self) -> str:
        return self._installer.target

    def install(self, tenant: str, requirements: Sequence[str]) -> PackageSet:
        """As the port."""
        if self._away is not None:
            raise self._away
        if self._used >= PATIENCE:
            raise PackageIndexUnavailable("the packages of other tools of the file took too long", AGAIN)
        started_at = self._clock.monotonic()
        try:
            return self._installer.install(tenant, requirements)
        except PackagesPending:
            self._away = PackageIndexUnavailable("they are still being built", AGAIN)
            raise self._away from None
        except Unavailable as error:
            self._away = error
            raise
        finally:
            self._used += self._clock.monotonic() - started_at


class ImportedPackages:
    """Gives the tools of one import their packages, and notes which tools get none."""

    def __init__(self, packages: ToolPackages, notes: ImportNotes) -> None:
        self._packages = packages
        self._notes = notes

    def with_packages(self, tool: StoredTool, before: StoredTool | None, local: str) -> StoredTool:
        """The tool with its packages, or without them and with a note. `before`: the tool that it replaces, whose packages it
        keeps if it requires the same ones. `local`: its id in the file.
        """
        try:
            packages = self._packages.of(tool.pip_requirements, tool.source_type, lambda: before)
        except PackagesRefused as refused:
            packages = self._packages_of_replaced(tool, before, local, refused.reason)
        except Unavailable as away:
            packages = self._packages_of_replaced(tool, before, local, away.detail)
        return tool.model_copy(update={"packages": packages})

    def _packages_of_replaced(self, tool: StoredTool, before: StoredTool | None, local: str, reason: str) -> PackageSet | None:
        """The packages of the replaced tool if it requires the same ones; else None, with a note."""
        if before is not None and before.packages is not None and before.pip_requirements == tool.pip_requirements:
            return before.packages
        text = f"The tool {tool.name} is without the packages that it requires: {reason.rstrip('.')}. PATCH /v1/tools/{(before or tool).id} with its pip_requirements installs them."
        self._notes.add("left_out", "tool_packages", local, text)
        return None
