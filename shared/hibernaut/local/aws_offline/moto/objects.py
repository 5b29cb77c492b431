"""Events for new objects in moto's S3, because moto's own event bus does not reach our functions.

Knows: the internals of moto's S3. Must not know: the buckets of the product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hibernaut.local.aws_offline.patching import put
from hibernaut.schemas.immutable import immutable


@immutable
class CreatedObjects:
    """An object that was created or overwritten."""

    bucket: str
    key: str
    size: int
    etag: str


@contextmanager
def listen_to_objects(listener: Callable[[CreatedObjects], None]) -> Iterator[None]:
    """Within the context, `listener` is called for every new object as soon as it can be read."""
    from moto.s3 import notifications

    original = notifications.send_event

    def tell(_account: str, event: Any, bucket: Any, key: Any) -> None:
        if str(event.value).startswith("s3:ObjectCreated:"):
            listener(CreatedObjects(bucket.name, key.name, key.size, key.etag.strip('"')))

    put(notifications, "send_event", tell)
    try:
        yield
    finally:
        put(notifications, "send_event", original)
