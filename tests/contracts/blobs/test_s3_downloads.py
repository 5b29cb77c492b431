"""Addresses of objects, signed on this side: which host they name."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from hibernaut.adapters.blobs.s3_downloads import S3Downloads


@pytest.mark.parametrize("region", ["eu-central-1", "us-east-1"])
def test_an_address_names_the_bucket_in_its_region(monkeypatch: pytest.MonkeyPatch, region: str) -> None:
    monkeypatch.setenv("AWS_REGION", region)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-no-use")
    address = urlsplit(S3Downloads("hibernaut-dev-blobs").address("tool_packages/acme/some.zip", 60))
    assert address.netloc == f"hibernaut-dev-blobs.s3.{region}.amazonaws.com"
    assert address.path == "/tool_packages/acme/some.zip"
