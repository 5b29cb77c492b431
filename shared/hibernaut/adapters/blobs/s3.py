"""The `Blobs` port on S3.

Knows: one bucket and the responses of S3. Must not know: the contents of a blob, or the form of its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

from hibernaut.adapters.aws_clients import CurrentCredentials, aws_client
from hibernaut.adapters.aws_meter import count_use
from hibernaut.ports.storage.blobs import BlobEntry

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ATTEMPTS = 3
"""How often a request is sent. Each may be repeated: a key is written once, and always with the same bytes."""
TIMEOUT_S = 20.0
"""Seconds that one request may take: far above what a blob of a few megabytes needs, far below a worker's time."""


class S3Blobs:
    """One bucket. A failed request is an OSError. Every call may be repeated; the driver of the step does so. Thread-safe."""

    def __init__(self, bucket: str, *, client: S3Client | None = None, credentials: CurrentCredentials | None = None) -> None:
        self._bucket = bucket
        self._credentials = credentials
        self._override = client

    @cached_property
    def _client(self) -> S3Client:
        if self._override is not None:
            return self._override
        from botocore.config import Config

        config = Config(retries={"total_max_attempts": ATTEMPTS, "mode": "standard"}, connect_timeout=5, read_timeout=TIMEOUT_S)
        return cast("S3Client", aws_client("s3", config, credentials=self._credentials))

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:  # noqa: ARG002  all of S3 is durable
        """Write; durable when it returns. Raises: OSError."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._client.put_object(Bucket=self._bucket, Key=key, Body=data)
            count_use(blob_writes=1)
        except (BotoCoreError, ClientError) as error:
            raise _failed("put", error) from error

    def get(self, key: str) -> bytes:
        """Raises: KeyError where there is none, OSError."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            count_use(blob_reads=1)
            return self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except ClientError as error:
            if error.response["Error"].get("Code") in {"NoSuchKey", "404"}:
                raise KeyError(key) from None
            raise _failed("get", error) from error
        except BotoCoreError as error:
            raise _failed("get", error) from error

    def delete(self, key: str) -> None:
        """Delete the blob; no error if it is missing. Raises: OSError."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._client.delete_object(Bucket=self._bucket, Key=key)
        except (BotoCoreError, ClientError) as error:
            raise _failed("delete", error) from error

    def list(self, after: str = "", *, limit: int) -> Sequence[BlobEntry]:
        """In the order of the keys' bytes. Raises: OSError."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            page = self._client.list_objects_v2(Bucket=self._bucket, MaxKeys=limit, StartAfter=after)
        except (BotoCoreError, ClientError) as error:
            raise _failed("list", error) from error
        return [BlobEntry(one["Key"], one["LastModified"], one["Key"]) for one in page.get("Contents", ())]


def _failed(what: str, error: Exception) -> OSError:
    return OSError(f"S3 {what} failed: {type(error).__name__}")
