"""Log lines for a terminal: the event's name and its fields. No event contains message bodies or prompts."""

from __future__ import annotations

import logging
import re

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that end a line, control a terminal, or change the writing direction: a quoted text could forge log lines with
them.
"""


class Fields(logging.Formatter):
    """`10:02:03 WARNING step failed run_id=run-…`"""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging names it
        """The message with the record's further fields, and with control characters escaped."""
        fields = "".join(f" {name}={value}" for name, value in vars(record).items() if name not in _OWN)
        return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], super().formatMessage(record) + fields)


INFORMATIVE = ("hibernaut.adapters.embedder.minilm", "hibernaut.rest.http.request_log", "hibernaut.rest.sockets.endpoint")
"""The loggers with visible INFO events: the loading of a model of 90 MB, one line for each request, and the begin and end of each
WebSocket.
"""


def to_terminal(level: int = logging.WARNING, *, verbose: bool = False) -> None:
    """Write events of at least this level to stderr. `verbose`: also why requests are refused."""
    handler = logging.StreamHandler()
    handler.setFormatter(Fields("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=level, handlers=[handler])
    for name in INFORMATIVE:
        logging.getLogger(name).setLevel(min(level, logging.INFO))
    if verbose:
        logging.getLogger("hibernaut.rest.http.request_log").setLevel(logging.DEBUG)
