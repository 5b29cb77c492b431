"""The functions' log: one JSON object a line, an event's name and its fields; never a body, a prompt or a key."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger


@cache
def log() -> Logger:
    """The logger of the whole package `hibernaut` as well: what services and adapters log comes out in the same form."""
    from aws_lambda_powertools import Logger

    return Logger(service="hibernaut")
