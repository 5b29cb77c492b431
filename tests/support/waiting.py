"""Waiting for what a thread or a run in the background brings about, however long it takes there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 60.0
"""Seconds after which it counts as never."""


def eventually(found: Callable[[], Any]) -> Any:
    """The first value that is true. Raises: AssertionError if there is none in time."""
    deadline = time.monotonic() + PATIENCE
    while not (value := found()):
        assert time.monotonic() < deadline, "it has not come about"
        threading.Event().wait(0.02)
    return value
