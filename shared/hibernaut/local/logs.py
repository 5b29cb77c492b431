"""Log lines for a terminal: the event's name and its fields. No event contains message bodies or prompts."""

from __future__ import annotations

import logging
import re

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that end a line, steer a terminal, or turn the direction of writing: who is quoted could forge lines with them."""


class Fields(logging.Formatter):
    """`10:02:03 WARNING step failed run_id=run-…`"""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging names it
        fields = "".join(f" {name}={value}" for name, value in vars(record).items() if name not in _OWN)
        return _STEERING.sub(lambda found: ascii(found[0])[1:-1], super().formatMessage(record) + fields)


SAID = ("hibernaut.adapters.embedder.minilm", "hibernaut.rest.request_log")
"""Whose news are shown too: that a model of 90 MB is loaded is said once, when it happens; and each request has its line."""


def to_terminal(level: int = logging.WARNING) -> None:
    """Events from this level on go to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(Fields("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=level, handlers=[handler])
    for name in SAID:
        logging.getLogger(name).setLevel(min(level, logging.INFO))
