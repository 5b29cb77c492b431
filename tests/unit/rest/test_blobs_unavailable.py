"""A store of large contents that fails is told as a table that fails is: the same request may succeed soon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import boto3
import pytest
from fastapi.testclient import TestClient
from moto import mock_aws

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.ports.runs.workflow import is_passing
from hibernaut.rest.app import create_app
from hibernaut.schemas.faults.record_faults import BlobsUnavailable
from hibernaut.store.table.tenant_table import TenantBlobs
from hibernaut.wiring.embedded import BLOBS
from tests.support.house import house_in

BIG = "x" * 100_000
CALLS: list[Callable[[TenantBlobs], object]] = [
    lambda blobs: blobs.put("records/default/x", b"x"),
    lambda blobs: blobs.get("records/default/x"),
    lambda blobs: blobs.delete("records/default/x"),
]


def test_a_request_that_cannot_reach_large_contents_may_be_sent_again(tmp_path: Path) -> None:
    with house_in(tmp_path) as house, TestClient(create_app(house.all_services), base_url="http://127.0.0.1:8283") as http:
        block = http.post("/v1/blocks/", json={"label": "l", "value": BIG, "limit": 200_000}).json()["id"]
        (folder,) = tmp_path.rglob(BLOBS)
        folder.rename(tmp_path / "away")
        folder.write_text("no folder")
        answers = [
            http.get(f"/v1/blocks/{block}"),
            http.get("/v1/blocks/"),
            http.post("/v1/blocks/", json={"label": "m", "value": BIG, "limit": 200_000}),
        ]
        assert [(one.status_code, one.headers["retry-after"]) for one in answers] == [(503, "2")] * 3
        assert all(str(tmp_path) not in one.text for one in answers)
        folder.unlink()
        (tmp_path / "away").rename(folder)
        assert http.get(f"/v1/blocks/{block}").json()["value"] == BIG
        assert len(http.get("/v1/blocks/").json()) == 1


@pytest.mark.parametrize("call", CALLS, ids=["put", "get", "delete"])
@pytest.mark.parametrize("engine", ["disk", "s3"])
def test_every_failure_of_an_engine_leaves_a_step_to_a_later_try(
    engine: str, call: Callable[[TenantBlobs], object], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "lasting").write_text("no folder")
    with mock_aws():
        missing = S3Blobs("no-bucket", client=boto3.client("s3", region_name="eu-central-1"))
        blobs = TenantBlobs(missing if engine == "s3" else DiskBlobs(tmp_path), "default")
        with pytest.raises(BlobsUnavailable) as raised:
            call(blobs)
    assert is_passing(raised.value)
    assert isinstance(raised.value, OSError)
    assert [record.message for record in caplog.records] == ["blobs unavailable"]
    assert "records/default" not in str(caplog.records[0].__dict__)


def test_a_missing_blob_is_no_failure_of_its_store(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        TenantBlobs(DiskBlobs(tmp_path), "default").get("records/default/x")
