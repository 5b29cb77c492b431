"""Tells a child process that nobody wants its result any more: by the end of a pipe, so that it can end its work in good order,
and not much later by a signal.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Self

LOOK = 0.5
"""Seconds between two questions whether the result is still wanted."""
GRACE = 4.0
"""Seconds that a child has to end its work."""


class Recall:
    """The recall of one child. `wanted` is asked now and then until it answers False. `reading`: the child's end of the pipe;
    nothing is written to it.
    """

    def __init__(self, wanted: Callable[[], bool], *, look: float = LOOK, grace: float = GRACE) -> None:
        self.reading, self._writing = os.pipe()
        self._wanted = wanted
        self._look = look
        self._grace = grace
        self._next = time.monotonic() + look
        self._end = math.inf

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.reading)
        self._tell()

    def deadline(self) -> float:
        """The monotonic time at which the child is ended; infinite as long as its result is wanted."""
        now = time.monotonic()
        if self._writing >= 0 and now >= self._next:
            self._next = now + self._look
            if not self._wanted():
                self._tell()
                self._end = now + self._grace
        return self._end

    def _tell(self) -> None:
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1
