"""The packages of tools that an agent file brings: installed as for a tool that is saved, and never a reason for an import to
fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from hibernaut.ports.tools.packages import NO_PACKAGES
from hibernaut.schemas.agents.agent_file import ImportOptions, ImportResult
from hibernaut.schemas.errors import Unavailable
from hibernaut.schemas.faults.package_faults import PackageIndexUnavailable, PackagesPending, PackagesRefused
from hibernaut.schemas.tools.package_set import PackagePin, PackageSet
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.services.agent_documents.imported_packages import PATIENCE, ImportInstaller
from tests.support.agent_documents import documents
from tests.support.agent_file_parts import agent, file_of, tool
from tests.support.clocks import ManualClock
from tests.support.world import World


class Shelf:
    """An installer that has `pad` in one version. `away`: what it raises instead. `asked`: the requirements of each
    installation.
    """

    target = "here"

    def __init__(self, away: Unavailable | None = None) -> None:
        self.away = away
        self.asked: list[tuple[str, ...]] = []

    def install(self, tenant: str, requirements: Sequence[str]) -> PackageSet:
        del tenant
        self.asked.append(tuple(requirements))
        if self.away is not None:
            raise self.away
        if "pad" not in "".join(requirements):
            raise PackagesRefused("nothing is named so")
        pin = PackagePin(name="pad", version="1.0", file="pad-1.0-py3-none-any.whl", sha256="a" * 64)
        return PackageSet(digest=f"{len(self.asked):064x}", target=self.target, size=1, pins=[pin])


def wanting(number: int, name: str, package: str = "pad", **fields: Any) -> dict[str, Any]:
    return tool(number, name, pip_requirements=[{"name": package}], **fields)


def imported(world: World, shelf: Shelf, *tools: dict[str, Any], **options: Any) -> ImportResult:
    document = file_of(agent(tool_ids=[each["id"] for each in tools]), tools=list(tools))
    return documents(world, shelf).import_(document, ImportOptions(**options))


def stored(world: World, name: str) -> StoredTool:
    return world.stores.tools.by_name([name])[name]


def told(result: ImportResult) -> list[str]:
    return [note.detail for note in result.notes if note.code == "tool_packages"]


def test_an_imported_tool_gets_its_packages(world: World) -> None:
    shelf = Shelf()
    result = imported(world, shelf, wanting(0, "knock"), tool(1, "ring"))
    assert told(result) == []
    packages = stored(world, "knock").packages
    assert packages is not None
    assert [pin.name for pin in packages.pins] == ["pad"]
    assert (stored(world, "ring").packages, shelf.asked) == (None, [("pad",)])


def test_packages_that_are_refused_are_told_and_those_of_other_tools_are_installed(world: World) -> None:
    result = imported(world, Shelf(), wanting(0, "knock", package="nothing"), wanting(1, "ring"))
    (detail,) = told(result)
    knock = stored(world, "knock")
    assert detail == (
        "The tool knock is without the packages that it requires: nothing is named so. "
        f"PATCH /v1/tools/{knock.id} with its pip_requirements installs them."
    )
    assert knock.packages is None
    assert stored(world, "ring").packages is not None


@pytest.mark.parametrize(
    ("away", "reason"),
    [
        (PackageIndexUnavailable("The index does not answer.", 5.0), "The index does not answer."),
        (PackagesPending("Send the same request again.", 5.0), "they are still being built."),
    ],
)
def test_an_index_that_is_away_is_asked_once_and_every_tool_is_imported(world: World, away: Unavailable, reason: str) -> None:
    shelf = Shelf(away)
    result = imported(world, shelf, wanting(0, "knock"), wanting(1, "ring"))
    assert [reason in detail for detail in told(result)] == [True, True]
    assert len(shelf.asked) == 1
    assert world.stores.agents.get(result.agent_ids[0]).tool_ids == [stored(world, "knock").id, stored(world, "ring").id]


def test_a_tool_that_is_overwritten_keeps_the_packages_that_it_still_requires(world: World) -> None:
    imported(world, Shelf(), wanting(0, "knock"))
    before = stored(world, "knock").packages
    shelf = Shelf(PackageIndexUnavailable("The index does not answer.", 5.0))
    result = imported(world, shelf, wanting(0, "knock", description="Another text."))
    assert (stored(world, "knock").packages, stored(world, "knock").description) == (before, "Another text.")
    assert (told(result), shelf.asked) == ([], [])


def test_a_function_that_installs_nothing_does_not_take_the_packages_of_a_tool(world: World) -> None:
    imported(world, Shelf(), wanting(0, "knock"))
    before = stored(world, "knock").packages
    document = file_of(agent(tool_ids=["tool-0"]), tools=[wanting(0, "knock", description="Another text.")])
    result = documents(world, NO_PACKAGES).import_(document, ImportOptions())
    assert (stored(world, "knock").packages, told(result)) == (before, [])


def test_a_tool_that_stays_as_it_is_needs_no_packages_of_the_file(world: World) -> None:
    imported(world, Shelf(), tool(0, "knock"))
    shelf = Shelf()
    imported(world, shelf, wanting(0, "knock"), override_existing_tools=False)
    assert (stored(world, "knock").packages, shelf.asked) == (None, [])


def test_no_installation_begins_once_those_before_took_long() -> None:
    clock = ManualClock()

    class Slow(Shelf):
        def install(self, tenant: str, requirements: Sequence[str]) -> PackageSet:
            clock.sleep(PATIENCE)
            return super().install(tenant, requirements)

    installer = ImportInstaller(Slow(), clock)
    assert installer.install("acme", ["pad"]).pins
    with pytest.raises(PackageIndexUnavailable, match="took too long"):
        installer.install("acme", ["pad"])
