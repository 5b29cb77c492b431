"""A model that does not answer until a test lets it: for what can only be asked of a run while it goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.compat.conftest import Said

PATIENCE = 60.0
"""Seconds after which a model that should be asked, or let go on, is stuck."""


@contextmanager
def holding(said: Said) -> Iterator[threading.Event]:
    """Within the block the model keeps whoever asks it waiting; the event is set when somebody does. Then it says "At last."."""
    asked, go = threading.Event(), threading.Event()

    def say(*_: Any) -> dict[str, Any]:
        asked.set()
        assert go.wait(PATIENCE)
        return {"content": "At last."}

    said.server.script = say
    try:
        yield asked
    finally:
        go.set()
