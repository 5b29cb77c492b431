"""New objects in moto's S3, told to whoever listens: moto's own bus would not reach our functions.

Knows: the insides of moto's S3. Must not know: buckets of the product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hibernaut.local.aws_offline.patching import put


@dataclass(frozen=True, slots=True)
class Created:
    """An object that has come to be, or was overwritten."""

    bucket: str
    key: str
    size: int
    etag: str


@contextmanager
def told_of_objects(listener: Callable[[Created], None]) -> Iterator[None]:
    """Meanwhile `listener` is told of every object, as soon as it can be read."""
    from moto.s3 import notifications

    original = notifications.send_event

    def tell(_account: str, event: Any, bucket: Any, key: Any) -> None:
        if str(event.value).startswith("s3:ObjectCreated:"):
            listener(Created(bucket.name, key.name, key.size, key.etag.strip('"')))

    put(notifications, "send_event", tell)
    try:
        yield
    finally:
        put(notifications, "send_event", original)
