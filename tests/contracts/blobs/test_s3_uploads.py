"""The port `Uploads` on S3: what a signature covers, and what a bucket makes of it (moto)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
import requests
from moto import mock_aws

from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.adapters.blobs.s3_uploads import S3Uploads
from hibernaut.adapters.clock import SystemClock
from hibernaut.ports.storage.uploads import Ticket

KEY = "uploads/default/file-1"


def signed(ticket: Ticket) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(ticket.url).query).items()}


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_DEFAULT_REGION", "us-east-1")):
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("credentials")
def test_the_signature_covers_length_type_and_that_nothing_stands_there() -> None:
    clock = SystemClock()
    ticket = S3Uploads("blobs", clock).ticket(KEY, size=17, media_type="text/plain", until=clock.now() + timedelta(minutes=15))
    query = signed(ticket)
    assert set(query["X-Amz-SignedHeaders"].split(";")) == {"content-length", "content-type", "host", "if-none-match"}
    assert query["X-Amz-Algorithm"] == "AWS4-HMAC-SHA256"
    assert 890 <= int(query["X-Amz-Expires"]) <= 900
    assert ticket.headers == {"Content-Length": "17", "Content-Type": "text/plain", "If-None-Match": "*"}
    assert urlsplit(ticket.url).scheme == "https"


def test_who_holds_the_ticket_writes_the_blob() -> None:
    with mock_aws():
        client: Any = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="blobs")
        clock = SystemClock()
        ticket = S3Uploads("blobs", clock).ticket(KEY, size=5, media_type="text/plain", until=later(clock))
        assert requests.put(ticket.url, data=b"Hello", headers=dict(ticket.headers), timeout=10).status_code == 200
        assert S3Blobs("blobs", client=client).get(KEY) == b"Hello"
        again = requests.put(ticket.url, data=b"Other", headers=dict(ticket.headers), timeout=10)
        assert again.status_code == 412
        assert S3Blobs("blobs", client=client).get(KEY) == b"Hello"


def test_without_credentials_nothing_can_be_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    clock = SystemClock()
    with pytest.raises(OSError, match="S3 cannot sign: NoCredentialsError"):
        S3Uploads("blobs", clock).ticket(KEY, size=5, media_type="text/plain", until=later(clock))


def later(clock: SystemClock) -> datetime:
    return clock.now() + timedelta(minutes=15)
