"""The port `Blobs`, on a folder, on S3 (moto) and on the double in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.adapters.clock import SystemClock
from hibernaut.ports.storage.blobs import BlobEntry, Blobs
from tests.support.blobs import MemoryBlobs

KEY = "default/CONV/agent-1/MSG/message-1/0123"


@pytest.fixture(params=["disk", "s3", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Blobs]:
    if request.param == "disk":
        yield DiskBlobs(tmp_path / "blobs")
        return
    if request.param == "memory":
        yield MemoryBlobs(SystemClock())
        return
    import boto3
    from moto import mock_aws

    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket="blobs", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        yield S3Blobs("blobs", client=client)


@pytest.mark.parametrize("data", [b"", b"\x00\xff" * 100_000, "größer".encode()])
def test_what_was_put_is_got_back(blobs: Blobs, data: bytes) -> None:
    blobs.put(KEY, data)
    assert blobs.get(KEY) == data


def test_putting_again_is_harmless(blobs: Blobs) -> None:
    blobs.put(KEY, b"same")
    blobs.put(KEY, b"same")
    assert blobs.get(KEY) == b"same"


def test_what_was_never_put_is_a_key_error(blobs: Blobs) -> None:
    with pytest.raises(KeyError):
        blobs.get(KEY)


def test_deleted_is_gone_and_deleting_again_is_fine(blobs: Blobs) -> None:
    blobs.put(KEY, b"x")
    blobs.delete(KEY)
    blobs.delete(KEY)
    with pytest.raises(KeyError):
        blobs.get(KEY)


def test_keys_that_differ_are_different_blobs(blobs: Blobs) -> None:
    keys = [KEY, KEY.upper(), KEY + "/", "a/../b", "b", "ключ", "x" * 900]
    for key in keys:
        blobs.put(key, key.encode())
    assert [blobs.get(key) for key in keys] == [key.encode() for key in keys]


def walked(blobs: Blobs, limit: int) -> list[BlobEntry]:
    """All entries, page by page."""
    found = list(blobs.list(limit=limit))
    while page := blobs.list(found[-1].place if found else "", limit=limit):
        found += page
    return found


@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_a_walk_over_the_pages_shows_every_blob_once_with_its_time(blobs: Blobs, limit: int) -> None:
    keys = {
        KEY,
        "ephemeral/default/RUN/r/EV/1/x",
        "ephemeral/é%20\n",
        *(f"records/t/TOOL/{number}/TOOL/x" for number in range(8)),
    }
    for key in keys:
        blobs.put(key, b"x")
    found = walked(blobs, limit)
    assert sorted(entry.key for entry in found) == sorted(keys)
    assert all(abs(entry.at - datetime.now(UTC)) < timedelta(minutes=5) for entry in found)


def test_a_walk_sees_what_stays_although_others_go(blobs: Blobs) -> None:
    keys = {f"records/t/TOOL/{number}/TOOL/x" for number in range(10)}
    for key in keys:
        blobs.put(key, b"x")
    (first,) = blobs.list(limit=1)
    blobs.delete(first.key)
    assert {entry.key for entry in blobs.list(first.place, limit=1000)} == keys - {first.key}


def test_an_empty_store_lists_nothing(blobs: Blobs) -> None:
    assert list(blobs.list(limit=10)) == []


def test_blobs_of_former_data_folders_are_read_and_deleted(tmp_path: Path) -> None:
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    (tmp_path / digest[:2]).mkdir()
    (tmp_path / digest[:2] / digest[2:]).write_bytes(b"former\nbytes")
    blobs = DiskBlobs(tmp_path)
    assert blobs.get(KEY) == b"former\nbytes"
    assert list(blobs.list(limit=10)) == []
    blobs.delete(KEY)
    with pytest.raises(KeyError):
        blobs.get(KEY)


def test_what_a_dead_process_was_writing_is_dropped_by_a_list(tmp_path: Path) -> None:
    blobs = DiskBlobs(tmp_path)
    blobs.put(KEY, b"x")
    (whole,) = blobs.list(limit=10)
    dead, alive = ((tmp_path / whole.place).with_name(f".writing-{name}") for name in ("dead", "alive"))
    for path in (dead, alive):
        path.write_bytes(b"half")
    os.utime(dead, (0, 0))
    assert [entry.key for entry in blobs.list(limit=10)] == [KEY]
    assert (dead.exists(), alive.exists()) == (False, True)


def test_no_key_names_a_place_outside_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "blobs"
    for key in ("../outside", "/etc/outside", "a/../../outside"):
        DiskBlobs(folder).put(key, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["blobs"]


def test_a_blob_that_need_not_be_durable_waits_for_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    blobs = DiskBlobs(tmp_path)
    blobs.put(KEY, b"x", durable=False)
    assert (synced, blobs.get(KEY)) == ([], b"x")
    blobs.put(KEY, b"y")
    assert (len(synced), blobs.get(KEY)) == (4 if hasattr(os, "O_DIRECTORY") else 1, b"y"), "the file and its folders"


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        DiskBlobs(tmp_path).put(KEY, b"x")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
