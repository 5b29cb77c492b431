"""What is installed for a tool by an index that keeps the rules, and what becomes of it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from hibernaut.adapters.packages import builder
from hibernaut.adapters.packages.builder import PackageBuilder
from hibernaut.adapters.packages.package_folders import UNUSED_SECONDS, PackageFolders
from hibernaut.ports.tools.tool_runner import PackagesMissing
from hibernaut.schemas.faults.package_faults import PackageIndexUnavailable
from hibernaut.schemas.tools.package_set import PackageSet
from tests.contracts.packages.installing import called, folders_of, installed, left
from tests.support.clocks import ManualClock
from tests.support.package_index import PackageIndexServer, serving_index


def test_a_tool_imports_its_packages_and_what_they_need(index: PackageIndexServer, folders: PackageFolders) -> None:
    index.add("Some.Package", "1.2", requires=["other-package>=1", "not-here; sys_platform == 'win31'"])
    index.add("other-package", "1.0")
    index.add("other-package", "1.5")
    index.add("other-package", "2.0rc1")
    found = folders.install("acme", ("some-package",))
    assert [(pin.name, pin.version) for pin in found.pins] == [("other-package", "1.5"), ("some-package", "1.2")]
    told = called(found, folders, "import other_package, some_package; return [other_package.version, some_package.version]")
    assert told == ["1.5", "1.2"]
    assert index.downloads() == ["other_package-1.5-py3-none-any.whl", "some_package-1.2-py3-none-any.whl"]


def test_the_packages_of_a_tool_are_compiled_and_read_only(index: PackageIndexServer, folders: PackageFolders) -> None:
    index.add("some-package", "1.0")
    found = folders.install("acme", ("some-package",))
    lib = Path(folders.place(found.model_dump(), 1.0))
    assert [each.stat().st_mode & 0o222 for each in (lib, lib / "some_package.py")] == [0, 0]
    assert list((lib / "__pycache__").glob("some_package.*.pyc"))
    hostile = "import some_package; open(some_package.__file__, 'a')"
    assert "Read-only file system" in str(called(found, folders, hostile)) or "ermission denied" in str(
        called(found, folders, hostile)
    )


def test_another_tools_packages_are_not_visible(index: PackageIndexServer, folders: PackageFolders) -> None:
    for name in ("mine", "theirs"):
        index.add(name, "1.0")
    mine, theirs = (folders.install("acme", (name,)) for name in ("mine", "theirs"))
    assert "No module named 'theirs'" in str(called(mine, folders, "import theirs"))
    path = folders.place(theirs.model_dump(), 1.0)
    assert "No such file" in str(called(mine, folders, f"import os; return os.listdir({path!r})"))


def test_a_call_of_a_tool_asks_the_index_nothing(index: PackageIndexServer, folders: PackageFolders) -> None:
    index.add("some-package", "1.0")
    found = folders.install("acme", ("some-package",))
    asked = len(index.requests)
    assert called(found, folders, "import some_package; return some_package.version") == "1.0"
    assert len(index.requests) == asked


def test_the_same_requirements_have_the_same_versions_for_a_while(
    index: PackageIndexServer, folders: PackageFolders, clock: ManualClock
) -> None:
    index.add("some-package", "1.0")
    assert installed(folders, "some-package") == {"some-package": "1.0"}
    index.add("some-package", "2.0")
    assert installed(folders, "some-package") == {"some-package": "1.0"}
    clock.sleep(601)
    assert installed(folders, "some-package") == {"some-package": "2.0"}
    assert installed(folders, "some-package==1.0") == {"some-package": "1.0"}
    assert len(left(folders)) == 2


def test_extras_bring_what_they_need(index: PackageIndexServer, folders: PackageFolders) -> None:
    index.add("some-package", "1.0", extras=["more"], requires=["base", "extra-one; extra == 'more'"])
    for name in ("base", "extra-one"):
        index.add(name, "1.0")
    assert set(installed(folders, "some-package")) == {"some-package", "base"}
    assert set(installed(folders, "some-package[more]")) == {"some-package", "base", "extra-one"}


def test_an_older_version_is_taken_if_the_newest_ones_do_not_fit_together(
    index: PackageIndexServer, folders: PackageFolders
) -> None:
    index.add("left", "1.0", requires=["shared<2"])
    index.add("right", "1.0", requires=["shared<2"])
    index.add("right", "2.0", requires=["shared>=2"])
    index.add("shared", "1.9")
    index.add("shared", "2.0")
    assert installed(folders, "left", "right") == {"left": "1.0", "right": "1.0", "shared": "1.9"}


def test_a_withdrawn_version_is_taken_only_if_it_is_named(index: PackageIndexServer, folders: PackageFolders) -> None:
    index.add("some-package", "1.0")
    index.add("some-package", "1.1", listed={"yanked": "broken"})
    assert installed(folders, "some-package") == {"some-package": "1.0"}
    assert installed(folders, "some-package==1.1") == {"some-package": "1.1"}


def test_an_index_of_html_pages_without_metadata_works(index: PackageIndexServer, folders: PackageFolders) -> None:
    index.html = True
    index.add("some-package", "1.0", requires=["other-package"], metadata=False)
    index.add("other-package", "3.0", metadata=False)
    assert installed(folders, "some-package") == {"some-package": "1.0", "other-package": "3.0"}


def test_the_index_gets_its_password_and_no_other_host_does(
    index: PackageIndexServer, tmp_path: Path, clock: ManualClock
) -> None:
    index.password = "s3cret@x"
    with serving_index() as other:
        foreign = other.add("some-package", "1.0")
        index.add("some-package", "1.0", listed={"url": other.url.replace("/simple/", f"/files/{foreign.name}")})
        folders = folders_of(index, tmp_path / "p", clock, index.url.replace("://", "://user:s3cret%40x@"))
        assert installed(folders, "some-package") == {"some-package": "1.0"}
        other.password = "not sent"
        clock.sleep(601)
        with pytest.raises(PackageIndexUnavailable) as failed:
            folders_of(index, tmp_path / "q", clock, index.url.replace("://", "://user:s3cret%40x@")).install(
                "acme", ("some-package",)
            )
    assert "s3cret" not in failed.value.detail


def test_wrong_passwords_and_silent_indexes_are_told_without_their_address(
    index: PackageIndexServer, tmp_path: Path, clock: ManualClock
) -> None:
    index.password = "right"
    folders = folders_of(index, tmp_path / "p", clock, index.url.replace("://", "://user:wrong@"))
    with pytest.raises(PackageIndexUnavailable) as failed:
        folders.install("acme", ("some-package",))
    assert "wrong" not in failed.value.detail
    assert index.url not in failed.value.detail
    assert left(folders) == []


def test_of_two_who_ask_for_the_same_packages_one_fetches_them(index: PackageIndexServer, folders: PackageFolders) -> None:
    index.add("some-package", "1.0")
    found: list[PackageSet] = []
    together = threading.Barrier(4)

    def ask() -> None:
        together.wait()
        found.append(folders.install("acme", ("some-package",)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len({each.digest for each in found}) == 1
    assert len(found) == 4
    assert index.downloads() == ["some_package-1.0-py3-none-any.whl"]


def test_two_processes_that_build_the_same_set_leave_one(index: PackageIndexServer, tmp_path: Path, clock: ManualClock) -> None:
    index.add("some-package", "1.0")
    one, other = (folders_of(index, tmp_path / "packages", clock) for _ in range(2))
    inside = threading.Barrier(2)
    real = builder.PackageBuilder._unpacked

    def together(self: PackageBuilder, *given: object) -> PackageSet:
        made = real(self, *given)  # type: ignore[arg-type]
        inside.wait()
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder.PackageBuilder, "_unpacked", together)
        threads = [threading.Thread(target=each.install, args=("acme", ("some-package",))) for each in (one, other)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(left(one)) == 1
    assert installed(other, "some-package") == {"some-package": "1.0"}


def test_what_a_killed_installation_leaves_is_no_set(
    index: PackageIndexServer, folders: PackageFolders, clock: ManualClock
) -> None:
    index.add("some-package", "1.0")

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hibernaut.adapters.packages.package_folders.remove", lambda _: None)
        patch.setattr("hibernaut.adapters.packages.package_folders.make_read_only", die)
        with pytest.raises(Killed):
            folders.install("acme", ("some-package",))
    assert [name.startswith(".building-") for name in left(folders)] == [True]
    again = folders_of(index, folders._folder, clock)
    again.clear()
    assert left(again) == []
    assert installed(again, "some-package") == {"some-package": "1.0"}


def test_a_missing_set_is_installed_again_from_its_pins(
    index: PackageIndexServer, folders: PackageFolders, tmp_path: Path, clock: ManualClock
) -> None:
    index.add("some-package", "1.0")
    found = folders.install("acme", ("some-package",))
    index.add("some-package", "2.0")
    elsewhere = folders_of(index, tmp_path / "restored", clock)
    assert called(found, elsewhere, "import some_package; return some_package.version") == "1.0"
    assert left(elsewhere) == [found.digest]


def test_an_exchanged_file_is_not_installed_again(
    index: PackageIndexServer, folders: PackageFolders, tmp_path: Path, clock: ManualClock
) -> None:
    index.add("some-package", "1.0")
    found = folders.install("acme", ("some-package",))
    index.add("some-package", "1.0", files={"some_package.py": "version = 'evil'\n"})
    elsewhere = folders_of(index, tmp_path / "restored", clock)
    with pytest.raises(PackagesMissing, match="no longer"):
        elsewhere.place(found.model_dump(), 5.0)
    assert left(elsewhere) == []


@pytest.mark.parametrize("digest", ["../../etc", "", "0" * 64])
def test_a_set_that_is_not_known_has_no_place(folders: PackageFolders, digest: str) -> None:
    with pytest.raises(PackagesMissing):
        folders.place({"digest": digest, "target": "another", "size": 0, "pins": []}, 1.0)


def test_the_collector_removes_sets_that_stay_unused(
    index: PackageIndexServer, folders: PackageFolders, clock: ManualClock
) -> None:
    for name in ("used", "unused", "again"):
        index.add(name, "1.0")
    used, unused, again = (folders.install("acme", (name,)) for name in ("used", "unused", "again"))
    assert folders.collect({used.digest}) == 0
    clock.sleep(UNUSED_SECONDS + 1)
    assert folders.install("acme", ("again",)).digest == again.digest
    assert folders.collect({used.digest}) == 1
    assert left(folders) == sorted([used.digest, again.digest])
    clock.sleep(UNUSED_SECONDS + 1)
    assert folders.collect({used.digest, again.digest}) == 0
    assert unused.digest not in left(folders)
