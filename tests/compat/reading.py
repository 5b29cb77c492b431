"""Waiting for a file to be read in the background, as a client does: by asking for its status."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from letta_client import Letta

PATIENCE = 60.0
"""Seconds after which a file that should be read is stuck."""


def until_read(look: Callable[[], Any]) -> Any:
    """What `look` shows once the file is read and indexed, or could not be."""
    deadline = time.monotonic() + PATIENCE
    while (file := look()).processing_status not in ("completed", "error"):
        assert time.monotonic() < deadline, f"the file is still {file.processing_status}"
        threading.Event().wait(0.02)
    return file


def read(client: Letta, file: Any) -> Any:
    """The file, with its text, once it is read and indexed (or could not be)."""
    return until_read(lambda: client.folders.files.retrieve(file.id, folder_id=file.source_id, include_content=True))


def uploaded(client: Letta, folder_id: str, name: str, data: bytes, media_type: str = "text/plain") -> Any:
    """A file that was sent, read and indexed."""
    return read(client, client.folders.files.upload(folder_id, file=(name, data, media_type)))
