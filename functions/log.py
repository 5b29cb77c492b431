"""The functions' log: one JSON object per line, with an event name and fields, and never a body, a prompt or a key."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger


@cache
def log() -> Logger:
    """The logger of the functions and of the package `hibernaut`: services and adapters log in the same format."""
    from aws_lambda_powertools import Logger

    return Logger(service="hibernaut")
