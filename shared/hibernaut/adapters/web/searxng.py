"""Search by a SearXNG server (docs.searxng.org/dev/search_api), which passes queries on to other engines and needs no key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlencode, urlsplit

from hibernaut.adapters.web.http import HttpWeb
from hibernaut.adapters.web.search_replies import items_of, text_of
from hibernaut.ports.tools.web import WebFailure
from hibernaut.ports.tools.web_search import SearchFailure, WebQuery, WebResult, WebResults
from hibernaut.schemas.base import JsonObject

LARGEST = 5_000_000
"""Bytes of a page of results."""
MOST_PAGES = 3
"""The number of requested pages of results: a page has about twenty."""
_CATEGORIES = {"news": "news", "research paper": "science", "github": "it"}
"""V1's categories that have one of SearXNG's own."""
_UNKNOWN = {"with_text": "include_text", "location": "user_location"}


class SearxngSearch:
    """The server at `url`. Its format `json` must be switched on (`search.formats` in its settings)."""

    def __init__(self, web: HttpWeb, url: str) -> None:
        self._web = web
        self._url = f"{url.rstrip('/')}/search"

    def search(self, query: WebQuery, *, seconds: float) -> WebResults:
        """The first results that fit. Domains and dates are compared here, because the engines behind the server do so
        differently.

        `seconds` limits all pages together. Raises: SearchFailure.
        """
        found: list[WebResult] = []
        for number in range(1, MOST_PAGES + 1):
            items = self._page(query, number, seconds / MOST_PAGES)
            found += (result for result in map(_result, items) if _fits(result, query))
            if not items or len(found) >= query.results:
                break
        return WebResults(found[: query.results], list(_ignored(query)))

    def _page(self, query: WebQuery, number: int, seconds: float) -> Sequence[JsonObject]:
        parameters = {"q": query.text, "format": "json", "pageno": str(number)}
        if query.category in _CATEGORIES:
            parameters["categories"] = _CATEGORIES[query.category]
        try:
            page = self._web.ask(f"{self._url}?{urlencode(parameters)}", None, {}, seconds=seconds, most=LARGEST)
        except WebFailure as failure:
            raise SearchFailure(f"SearXNG could not be reached: {failure}") from failure
        if page.status == 403:
            raise SearchFailure("SearXNG refused the format json (403): add it to search.formats in the server's settings.yml")
        if page.status != 200:
            raise SearchFailure(f"SearXNG answered {page.status}")
        return items_of("SearXNG", page)


def _result(item: JsonObject) -> WebResult:
    content = text_of(item.get("content"))
    return WebResult(
        title=text_of(item.get("title")),
        url=text_of(item.get("url")) or "",
        published=text_of(item.get("publishedDate")),
        author=text_of(item.get("author")),
        highlights=[content] if content else [],
    )


def _fits(result: WebResult, query: WebQuery) -> bool:
    try:
        host = urlsplit(result.url).hostname or ""
    except ValueError:
        return False
    if query.include_domains and not any(_of(host, domain) for domain in query.include_domains):
        return False
    if any(_of(host, domain) for domain in query.exclude_domains):
        return False
    if not (query.published_after or query.published_before):
        return True
    # Dates in ISO 8601 sort as texts. A page without one may be of any time.
    published = (result.published or "")[:10]
    after, before = (query.published_after or "")[:10], (query.published_before or "9999")[:10]
    return bool(published) and after <= published <= before


def _of(host: str, domain: str) -> bool:
    name = domain.removeprefix("*.").partition("/")[0].lower()
    return host == name or host.endswith(f".{name}")


def _ignored(query: WebQuery) -> Iterator[str]:
    yield from (argument for name, argument in _UNKNOWN.items() if getattr(query, name))
    if query.category is not None and query.category not in _CATEGORIES:
        yield "category"
