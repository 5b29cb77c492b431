"""Log lines for a terminal: the event's name, and its fields beside it. Bodies and prompts are in no event, so they are in no line."""

from __future__ import annotations

import logging

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Fields(logging.Formatter):
    """`10:02:03 WARNING step failed run_id=run-…`"""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in vars(record).items() if name not in _OWN)
        line, _, trace = super().format(record).partition("\n")
        return f"{line}{fields}" + (f"\n{trace}" if trace else "")


SAID = ("hibernaut.adapters.embedder.minilm",)
"""Whose news are shown too: that a model of 90 MB is loaded is said once, when it happens."""


def to_terminal(level: int = logging.WARNING) -> None:
    """Events from this level on go to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(Fields("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=level, handlers=[handler])
    for name in SAID:
        logging.getLogger(name).setLevel(min(level, logging.INFO))
