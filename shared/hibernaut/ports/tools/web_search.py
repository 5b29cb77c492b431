"""Searching the public web by a search engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

from hibernaut.schemas.immutable import immutable

EXA_KEY, EXA_ADDRESS, SEARXNG_ADDRESS = "EXA_API_KEY", "EXA_BASE_URL", "SEARXNG_BASE_URL"
SEARCH_NAMES = (EXA_KEY, EXA_ADDRESS, SEARXNG_ADDRESS)
"""The secrets that configure search engines."""


class SearchFailure(Exception):
    """The engine returned no results. The message says why and what to do, and quotes no key."""


@immutable
class WebQuery:
    """A query, with the arguments of V1's `web_search` (RT 5.7). Dates are ISO 8601, `location` is a country's two
    letters.
    """

    text: str
    results: int = 10
    category: str | None = None
    with_text: bool = False
    include_domains: Sequence[str] = ()
    exclude_domains: Sequence[str] = ()
    published_after: str | None = None
    published_before: str | None = None
    location: str | None = None


@immutable
class WebResult:
    """A page that was found. What the engine does not tell is None or empty."""

    title: str | None
    url: str
    published: str | None = None
    author: str | None = None
    text: str | None = None
    highlights: Sequence[str] = ()
    summary: str | None = None


@immutable
class WebResults:
    """The pages that were found, best first. `ignored`: arguments of the query that this engine does not know."""

    results: Sequence[WebResult]
    ignored: Sequence[str] = field(default=())


class WebSearch(Protocol):
    """A search engine. Thread-safe."""

    def search(self, query: WebQuery, key: str | None, *, seconds: float) -> WebResults:
        """Send the query once. `key`: a key of the agent's own; None: that of the deployment. Raises: SearchFailure."""


class NoWebSearch:
    """The search of a deployment without an engine: every call raises SearchFailure."""

    def search(self, query: WebQuery, key: str | None, *, seconds: float) -> WebResults:  # noqa: ARG002 - the port names them
        raise SearchFailure("this deployment searches nothing")


NO_WEB_SEARCH = NoWebSearch()
