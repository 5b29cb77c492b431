"""Packages on AWS: what the builder answers, what its callers make of that, and what the sandbox fetches."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.packages.archiver import ZipArchiver
from hibernaut.adapters.packages.builder import PackageBuilder
from hibernaut.adapters.packages.lambda_packages import LambdaPackages
from hibernaut.adapters.packages.limits import MEGABYTE, PackageLimits
from hibernaut.adapters.packages.package_index import PackageIndex
from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.fetched_packages import MOST_SETS, FetchedPackages
from hibernaut.adapters.tool_runner.lambda_function import LambdaRunner
from hibernaut.ports.tools.tool_runner import PackagesMissing, ToolJob
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.faults.package_faults import PackageIndexUnavailable, PackagesPending, PackagesRefused
from hibernaut.services.tools.package_builds import CHOICE_SECONDS, PackageBuilds
from hibernaut.store.table import blob_keys
from tests.contracts.packages.installing import HERE
from tests.support.clocks import ManualClock
from tests.support.package_index import PackageIndexServer, Served
from tests.support.run_tool import HandlerClient

TENANT = "acme"


@pytest.fixture
def blobs(tmp_path: Path) -> DiskBlobs:
    return DiskBlobs(tmp_path / "blobs")


@pytest.fixture
def builds(index: PackageIndexServer, blobs: DiskBlobs, clock: ManualClock) -> PackageBuilds:
    made = PackageBuilder(PackageIndex(index.url, HERE), clock, PackageLimits(size=MEGABYTE))
    return PackageBuilds(TENANT, blobs, ZipArchiver(made), clock)


def archived(blobs: DiskBlobs, answer: JsonObject) -> bytes:
    return blobs.get(blob_keys.package_blob(TENANT, f"{answer['packages']['digest']}.zip"))


def test_a_set_becomes_a_zip_file_with_the_hash_that_is_kept_on_the_tool(
    index: PackageIndexServer, builds: PackageBuilds, blobs: DiskBlobs
) -> None:
    index.add("some-package", "1.0")
    answer = builds.answer(["some-package"])
    assert [(pin["name"], pin["version"]) for pin in answer["packages"]["pins"]] == [("some-package", "1.0")]
    assert hashlib.sha256(archived(blobs, answer)).hexdigest() == answer["packages"]["archive"]


def test_a_repeated_request_finds_its_answer_for_a_while(
    index: PackageIndexServer, builds: PackageBuilds, clock: ManualClock
) -> None:
    index.add("some-package", "1.0")
    first, asked = builds.answer(["some-package"]), len(index.requests)
    index.add("some-package", "2.0")
    assert builds.answer(["some-package"]) == first
    assert len(index.requests) == asked
    clock.sleep(CHOICE_SECONDS + 1)
    assert builds.answer(["some-package"])["packages"]["pins"][0]["version"] == "2.0"


def test_a_refusal_is_found_too_and_a_silent_index_is_asked_again(index: PackageIndexServer, builds: PackageBuilds) -> None:
    assert builds.answer(["some-package"]) == {"refused": "The index has no package some-package."}
    index.add("some-package", "1.0")
    assert builds.answer(["some-package"]) == {"refused": "The index has no package some-package."}
    index.password = "wanted"
    assert builds.answer(["some-package==1.0"])["retry_after"] == 30.0
    index.password = ""
    assert "packages" in builds.answer(["some-package==1.0"])


def test_equal_sets_are_built_once_and_are_equal_bytes(
    index: PackageIndexServer, builds: PackageBuilds, blobs: DiskBlobs, clock: ManualClock
) -> None:
    index.add("some-package", "1.0")
    first = builds.answer(["some-package"])
    assert builds.answer(["some-package==1.0"]) == first
    assert index.downloads() == ["some_package-1.0-py3-none-any.whl"]
    other = PackageBuilds("other", blobs, builds._archiver, clock)
    assert other.answer(["some-package"]) == first


# What callers make of the answers


class Answering:
    """Lambda's Invoke, which answers this payload or raises this error."""

    def __init__(self, answer: Any, **more: Any) -> None:
        self.answer, self.more = answer, more
        self.asked: list[Any] = []

    def invoke(self, **request: Any) -> dict[str, Any]:
        self.asked.append(json.loads(request["Payload"]))
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"StatusCode": 200, "Payload": io.BytesIO(json.dumps(self.answer).encode()), **self.more}


def test_a_caller_gets_the_set(index: PackageIndexServer, builds: PackageBuilds) -> None:
    index.add("some-package", "1.0")
    answering = Answering(builds.answer(["some-package"]))
    assert LambdaPackages("build", answering).install(TENANT, ("some-package",)).pins[0].version == "1.0"
    assert answering.asked == [{"tenant": TENANT, "requirements": ["some-package"]}]


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        ({"refused": "No."}, PackagesRefused, "INVALID_ARGUMENT: No."),
        ({"unavailable": "Silent.", "retry_after": 30.0}, PackageIndexUnavailable, "Silent."),
        ({"errorType": "OSError", "errorMessage": "s3 at /secret"}, PackageIndexUnavailable, "could not be built"),
        (ReadTimeoutError(endpoint_url="https://lambda"), PackagesPending, "Send the same request again"),
        (ConnectTimeoutError(endpoint_url="https://lambda"), PackageIndexUnavailable, "ConnectTimeoutError"),
    ],
)
def test_each_answer_has_its_error(answer: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told) as raised:
        LambdaPackages("build", Answering(answer)).install(TENANT, ("some-package",))
    assert "secret" not in str(raised.value)


# The sandbox


def linked(index: PackageIndexServer, blobs: DiskBlobs, answer: JsonObject) -> JsonObject:
    """The set as the sandbox is told of it; its zip file is behind an address of the index's server."""
    name = f"{answer['packages']['digest']}.zip"
    index.files[name] = Served("none", name, archived(blobs, answer))
    return {**answer["packages"], "url": index.url.replace("/simple/", f"/files/{name}")}


def test_a_set_is_fetched_once_in_an_execution_environment(
    index: PackageIndexServer, builds: PackageBuilds, blobs: DiskBlobs, tmp_path: Path
) -> None:
    index.add("some-package", "1.0")
    told = linked(index, blobs, builds.answer(["some-package"]))
    runner, asked = ChildProcessRunner(packages=FetchedPackages(tmp_path / "here").place), len(index.requests)
    job = ToolJob("tool", "def tool():\n    import some_package\n    return some_package.version", {}, packages=told)
    assert [runner.run(job).value for _ in range(2)] == ["1.0", "1.0"]
    assert len(index.requests) == asked + 1


def test_what_is_not_the_set_is_not_unpacked(
    index: PackageIndexServer, builds: PackageBuilds, blobs: DiskBlobs, tmp_path: Path
) -> None:
    index.add("some-package", "1.0")
    told = linked(index, blobs, builds.answer(["some-package"]))
    fetched = FetchedPackages(tmp_path / "here")
    for wrong in (
        {"archive": "0" * 64},
        {"url": f"{told['url']}x"},
        {"url": "no address"},
        {"digest": "../up"},
        {"archive": None},
    ):
        with pytest.raises(PackagesMissing) as missing:
            fetched.place(told | wrong, 5.0)
        assert index.url not in str(missing.value)
    index.files[f"{told['digest']}.zip"].endless = True
    with pytest.raises(PackagesMissing):
        fetched.place(told, 5.0)
    assert [each.name for each in (tmp_path / "here").iterdir()] == []


def test_an_execution_environment_keeps_a_few_sets(
    index: PackageIndexServer, builds: PackageBuilds, blobs: DiskBlobs, tmp_path: Path
) -> None:
    fetched = FetchedPackages(tmp_path / "here")
    for number in range(MOST_SETS + 2):
        index.add(f"some-{number}", "1.0")
        fetched.place(linked(index, blobs, builds.answer([f"some-{number}"])), 5.0)
    assert len(list((tmp_path / "here").iterdir())) == MOST_SETS


def test_the_function_is_told_where_the_zip_file_is_and_no_more(
    index: PackageIndexServer, builds: PackageBuilds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    index.add("some-package", "1.0")
    packages = builds.answer(["some-package"])["packages"]
    client = HandlerClient()
    runner = LambdaRunner("run_tool", client, links=lambda tenant, digest: f"http://127.0.0.1:1/{tenant}/{digest}.zip")
    outcome = runner.run(ToolJob("tool", "def tool(): return 1", {}, tenant=TENANT, packages=packages))
    assert outcome.error == "Error executing function tool: ImportError: its packages cannot be fetched (ConnectionError)"
    sent = json.loads(client.requests[0]["Payload"])["packages"]
    assert sorted(sent) == ["archive", "digest", "size", "url"]
    assert sent["url"] == f"http://127.0.0.1:1/{TENANT}/{packages['digest']}.zip"
