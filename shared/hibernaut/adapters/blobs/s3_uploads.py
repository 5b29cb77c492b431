"""The port `Uploads` on S3: this process signs PUT requests, and clients send them.

The signature covers the length and the type of the body, and the condition that the object does not exist (`If-None-Match`). Only
the announced body can be sent, and only once. Signing sends no request; S3 checks that this role may write the object.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.uploads import Ticket

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3Uploads:
    """Into one bucket. A ticket holds no longer than the role's credentials do, which Lambda renews within hours. Thread-safe."""

    def __init__(self, bucket: str, clock: Clock, *, client: S3Client | None = None) -> None:
        self._bucket = bucket
        self._clock = clock
        self._override = client

    @cached_property
    def _client(self) -> S3Client:
        if self._override is not None:
            return self._override
        from botocore.config import Config

        # In some regions the old way of signing is the usual one, which covers no headers.
        return cast("S3Client", aws_client("s3", Config(signature_version="s3v4")))

    def ticket(self, key: str, *, size: int, media_type: str, until: datetime) -> Ticket:
        """A signed upload. Raises: OSError without credentials."""
        from botocore.exceptions import BotoCoreError

        parameters = {"Bucket": self._bucket, "Key": key, "ContentLength": size, "ContentType": media_type, "IfNoneMatch": "*"}
        seconds = max(1, int((until - self._clock.now()).total_seconds()))
        try:
            url = self._client.generate_presigned_url("put_object", Params=parameters, ExpiresIn=seconds)
        except BotoCoreError as error:
            raise OSError(f"S3 cannot sign: {type(error).__name__}") from error
        headers = {"Content-Length": str(size), "Content-Type": media_type, "If-None-Match": "*"}
        return Ticket(url, headers, until)
