"""Signed addresses, which permit their holders to read an object of the bucket for a limited time. Signing sends no request; S3
checks that this role may read it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from hibernaut.adapters.aws_clients import aws_client

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3Downloads:
    """Of one bucket. Thread-safe."""

    def __init__(self, bucket: str, *, client: S3Client | None = None) -> None:
        self._bucket = bucket
        self._override = client

    @cached_property
    def _client(self) -> S3Client:
        if self._override is not None:
            return self._override
        from botocore.config import Config

        # The bucket's name in its region: the one without a region redirects for hours after the bucket was made, and the network
        # of custom tools does not know it (`infra/constructs/tool_network.py`).
        regional = Config(signature_version="s3v4", s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"})
        return cast("S3Client", aws_client("s3", regional))

    def address(self, key: str, seconds: int) -> str:
        """Raises: OSError where there is nothing to sign with."""
        from botocore.exceptions import BotoCoreError

        try:
            return self._client.generate_presigned_url(
                "get_object", Params={"Bucket": self._bucket, "Key": key}, ExpiresIn=seconds
            )
        except BotoCoreError as error:
            raise OSError(f"S3 cannot sign: {type(error).__name__}") from error
