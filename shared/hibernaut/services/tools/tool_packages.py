"""The packages of a tool when it is saved: chosen once, and retained as long as the tool requires the same ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hibernaut.domain.tools.package_requirements import requirement_lines
from hibernaut.ports.tools.packages import PackageInstaller
from hibernaut.schemas.faults.package_faults import PackagesRefused
from hibernaut.schemas.tools.package_set import PackageSet
from hibernaut.schemas.tools.tool import PipRequirement, Tool


class ToolPackages:
    """Installs what tools of one tenant require."""

    def __init__(self, tenant: str, installer: PackageInstaller) -> None:
        self._tenant = tenant
        self._installer = installer

    def of(
        self,
        requirements: Sequence[PipRequirement] | None,
        source_type: str | None,
        before: Callable[[], Tool | None] = lambda: None,
    ) -> PackageSet | None:
        """The packages for these requirements; None if there are none, or if the source is not Python. `before` reads the tool
        that is replaced: the same requirements keep their versions, on the same Python and platform.

        Raises: PackagesRefused, PackageIndexUnavailable, PackagesPending, and what `before` raises.
        """
        if not requirements or source_type == "typescript":
            return None
        lines = requirement_lines(requirements)
        replaced = before()
        if replaced is not None and replaced.packages is not None and replaced.packages.target == self._installer.target:
            if _lines(replaced) == lines:
                return replaced.packages
        return self._installer.install(self._tenant, lines)


def _lines(tool: Tool) -> tuple[str, ...]:
    try:
        return requirement_lines(tool.pip_requirements or ())
    except PackagesRefused:  # a release before did not look
        return ()
