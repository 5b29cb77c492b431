"""The port `Blobs`, on a folder and on S3 (moto)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.ports.blobs import Blobs

KEY = "default/CONV/agent-1/MSG/message-1/0123"


@pytest.fixture(params=["disk", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Blobs]:
    if request.param == "disk":
        yield DiskBlobs(tmp_path / "blobs")
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


def test_no_key_names_a_place_outside_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "blobs"
    for key in ("../outside", "/etc/outside", "a/../../outside"):
        DiskBlobs(folder).put(key, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["blobs"]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        DiskBlobs(tmp_path).put(KEY, b"x")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
