"""What S3 refuses for a moment is asked for again: each request may be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from moto import mock_aws

from hibernaut.adapters.blobs.s3 import S3Blobs

SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


class Refusing:
    """Refuses the next requests of a client with 503 Slow Down."""

    def __init__(self, times: int) -> None:
        self.left, self.asked = times, 0

    def __call__(self, request: Any, **_: object) -> AWSResponse | None:
        self.asked += 1
        self.left -= 1
        raw: Any = BytesIO(SLOW_DOWN)
        raw.stream = lambda **_: iter([SLOW_DOWN])
        return AWSResponse(request.url, 503, {}, raw) if self.left >= 0 else None


@pytest.fixture
def blobs() -> Iterator[S3Blobs]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="blobs")
        client.close()
        yield S3Blobs("blobs")


def refusing(blobs: S3Blobs, times: int) -> Refusing:
    refusals = Refusing(times)
    blobs._client.meta.events.register_first("before-send.s3", refusals)
    return refusals


def test_a_request_that_s3_refuses_once_is_sent_again(blobs: S3Blobs) -> None:
    refusals = refusing(blobs, 1)
    blobs.put("t/k", b"text")
    assert (refusals.asked, blobs.get("t/k")) == (2, b"text")


def test_a_request_that_s3_refuses_again_and_again_fails(blobs: S3Blobs) -> None:
    refusals = refusing(blobs, 99)
    with pytest.raises(OSError, match="S3 put failed"):
        blobs.put("t/k", b"text")
    assert refusals.asked == 3
