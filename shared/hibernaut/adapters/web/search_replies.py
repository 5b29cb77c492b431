"""Reads the replies of search engines, which may be anything."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hibernaut.ports.tools.web import WebPage
from hibernaut.ports.tools.web_search import SearchFailure
from hibernaut.schemas.base import Json, JsonObject


def items_of(engine: str, page: WebPage) -> Sequence[JsonObject]:
    """The `results` of a reply. Raises: SearchFailure."""
    found = (object_of(page) or {}).get("results")
    if not isinstance(found, list):
        raise SearchFailure(f"{engine} answered with something else than results")
    return [item for item in found if isinstance(item, dict)]


def object_of(page: WebPage) -> JsonObject | None:
    """The JSON object of a reply, if it is one."""
    try:
        found = json.loads(page.data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def text_of(value: Json) -> str | None:
    """The text, if the value is one that says something."""
    return value if isinstance(value, str) and value else None
