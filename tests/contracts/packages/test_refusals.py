"""What is refused: packages that cannot be installed, and an index that breaks the rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hibernaut.adapters.addresses import PUBLIC
from hibernaut.adapters.packages.builder import PackageBuilder
from hibernaut.adapters.packages.limits import MEGABYTE, PackageLimits
from hibernaut.adapters.packages.package_folders import PackageFolders
from hibernaut.adapters.packages.package_index import PackageIndex
from hibernaut.schemas.faults.package_faults import PackageIndexUnavailable
from tests.contracts.packages.installing import folders_of, installed, left, refusal
from tests.support.clocks import ManualClock
from tests.support.package_index import PackageIndexServer


def test_an_unknown_package_is_named(folders: PackageFolders, index: PackageIndexServer) -> None:
    index.add("some-package", "1.0", requires=["nowhere"])
    assert refusal(folders, "nothing") == "The index has no package nothing."
    assert refusal(folders, "some-package") == "The index has no package nowhere. some-package 1.0 requires it."


def test_an_unknown_version_is_told_with_those_that_there_are(folders: PackageFolders, index: PackageIndexServer) -> None:
    index.add("some-package", "1.0")
    assert refusal(folders, "some-package==9") == "The index has no version ==9 of some-package (there are 1.0)."


def test_conditions_that_contradict_each_other_are_told_with_who_has_them(
    folders: PackageFolders, index: PackageIndexServer
) -> None:
    index.add("left", "1.0", requires=["shared<2"])
    index.add("right", "1.0", requires=["shared>=2"])
    index.add("shared", "1.0")
    index.add("shared", "2.0")
    told = refusal(folders, "left", "right")
    assert told == "The packages do not fit together: left 1.0 requires shared<2; right 1.0 requires shared>=2."


def test_what_would_have_to_be_compiled_is_refused(folders: PackageFolders, index: PackageIndexServer) -> None:
    index.add_source("some-package", "2.0")
    index.add("some-package", "1.0", tag="cp27-cp27m-win32")
    told = refusal(folders, "some-package")
    assert told.startswith("some-package 2.0 has no wheel for Python ")
    assert "it would have to be compiled" in told
    assert index.downloads() == []


def test_a_wheel_for_another_python_is_not_taken(folders: PackageFolders, index: PackageIndexServer) -> None:
    index.add("some-package", "1.0")
    index.add("some-package", "2.0", listed={"requires-python": ">=9"})
    assert installed(folders, "some-package") == {"some-package": "1.0"}


def test_a_file_with_another_hash_is_refused(folders: PackageFolders, index: PackageIndexServer) -> None:
    index.add("some-package", "1.0", listed={"hashes": {"sha256": "0" * 64}})
    assert "some_package-1.0-py3-none-any.whl does not have the hash that the index states" in refusal(folders, "some-package")


def test_metadata_with_another_hash_are_refused(folders: PackageFolders, index: PackageIndexServer) -> None:
    index.add("some-package", "1.0", listed={"core-metadata": {"sha256": "0" * 64}})
    assert "some_package-1.0-py3-none-any.whl.metadata does not have the hash" in refusal(folders, "some-package")


def test_a_wheel_that_is_another_package_inside_is_refused(folders: PackageFolders, index: PackageIndexServer) -> None:
    index.add("requests", "1.0", inside="reqeusts")
    assert "names another package: 'reqeusts' '1.0'" in refusal(folders, "requests")
    other = index.add("other", "1.0", inside="evil")
    other.metadata = b"Metadata-Version: 2.1\nName: other\nVersion: 1.0\n"
    assert "names another package: 'evil' '1.0'" in refusal(folders, "other")


def test_files_of_another_project_on_a_page_are_left_out(folders: PackageFolders, index: PackageIndexServer) -> None:
    index.add("evil", "9.0").project = "requests"
    index.add("requests", "1.0")
    assert installed(folders, "requests") == {"requests": "1.0"}


def test_packages_beyond_the_size_are_refused_with_it_before_they_are_fetched(
    folders: PackageFolders, index: PackageIndexServer
) -> None:
    index.add("huge", "1.0", listed={"size": 500 * MEGABYTE})
    assert refusal(folders, "huge") == "The packages would take 500 MB, and the packages of a tool may take 1 MB in all."
    assert index.downloads() == []


def test_a_small_file_that_unpacks_to_much_is_refused(folders: PackageFolders, index: PackageIndexServer) -> None:
    index.add("bomb", "1.0", files={"bomb.py": b"#" * 3 * MEGABYTE})
    assert refusal(folders, "bomb") == "The packages would take 3 MB, and the packages of a tool may take 1 MB in all."


def test_a_file_that_never_ends_is_refused(folders: PackageFolders, index: PackageIndexServer) -> None:
    index.add("flood", "1.0", endless=True)
    assert "flood-1.0-py3-none-any.whl would take 1" in refusal(folders, "flood")


def test_an_index_that_takes_too_long_is_refused(index: PackageIndexServer, tmp_path: Path) -> None:
    class Hurried(ManualClock):
        """Every look at the clock costs a second."""

        def monotonic(self) -> float:
            self.passed += 1
            return self.passed

    index.add("some-package", "1.0")
    assert "within 3 seconds" in refusal(folders_of(index, tmp_path / "p", Hurried(), seconds=3), "some-package")


@pytest.mark.parametrize("path", ["../escaped.py", "/tmp/escaped.py", "a/../../escaped.py", "C:\\escaped.py"])
def test_a_wheel_that_writes_elsewhere_is_refused(folders: PackageFolders, index: PackageIndexServer, path: str) -> None:
    file = index.add("some-package", "1.0", files={"some_package/XXXXXXXXXXXX": "escaped"})
    raw = path.encode()[:25].ljust(25, b"_")
    changed = file.data.replace(b"some_package/XXXXXXXXXXXX", raw)
    file.data = changed
    told = refusal(folders, "some-package")
    assert "is a damaged wheel" in told or "has a file that is not allowed in a wheel" in told


def test_a_requirement_from_an_address_is_refused(folders: PackageFolders, index: PackageIndexServer) -> None:
    index.add("some-package", "1.0", requires=["evil @ https://evil.example/evil.whl"])
    assert "some-package 1.0 requires evil from an address" in refusal(folders, "some-package")


def test_an_index_cannot_send_us_to_addresses_of_this_network(
    tmp_path: Path, clock: ManualClock, index: PackageIndexServer
) -> None:
    index.add("some-package", "1.0", listed={"url": "http://169.254.169.254/latest/meta-data/some_package-1.0-py3-none-any.whl"})
    made = PackageBuilder(PackageIndex(index.url, PUBLIC), clock, PackageLimits(size=MEGABYTE))
    folders = PackageFolders(tmp_path / "p", made, clock)
    with pytest.raises(PackageIndexUnavailable):
        folders.install("acme", ("some-package",))
    assert left(folders) == []


def test_an_index_whose_name_has_no_address_is_told(tmp_path: Path, clock: ManualClock) -> None:
    def nowhere(host: str, port: int) -> list[str]:
        raise OSError(f"{host}:{port}")

    index = PackageIndex("https://index.test/simple/", replace(PUBLIC, setting="SOME_SETTING"), nowhere)
    folders = PackageFolders(tmp_path / "p", PackageBuilder(index, clock, PackageLimits(size=MEGABYTE)), clock)
    told = "The package index did not send the page of some-package: its address names an unknown host; try again."
    with pytest.raises(PackageIndexUnavailable) as refused:
        folders.install("acme", ("some-package",))
    assert str(refused.value) == told
