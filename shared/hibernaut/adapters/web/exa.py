"""Search by Exa's API (exa.ai/docs/reference/search). Knows its parameters, its errors and its categories."""

from __future__ import annotations

from hibernaut.adapters.http_headers import sendable
from hibernaut.adapters.web.http import HttpWeb
from hibernaut.adapters.web.search_replies import items_of, object_of, text_of
from hibernaut.ports.tools.web import WebFailure, WebPage
from hibernaut.ports.tools.web_search import SearchFailure, WebQuery, WebResult, WebResults
from hibernaut.schemas.base import Json, JsonObject

EXA_URL = "https://api.exa.ai"
MOST_RESULTS = 100
"""Exa's limit of `numResults`."""
LARGEST = 20_000_000
"""Bytes of a reply: a hundred pages with their text."""
CATEGORIES = frozenset({"company", "people", "research paper", "news", "personal site", "financial report"})
"""Exa's categories. V1's tool offers more, which Exa has withdrawn."""
UNDATED = frozenset({"company", "people"})
"""Categories with which Exa refuses dates of publication."""
_SITES = {"github": "github.com", "tweet": "x.com"}
_RENAMED = {"linkedin profile": "people"}
_CAUSES = {
    401: "Exa refused the key: check EXA_API_KEY among the agent's secrets, or the server's",
    402: "the credits of the Exa account are used up",
    403: "the Exa key does not permit this search",
    429: "Exa allows no more requests at the moment; try again later",
}


class ExaSearch:
    """Exa at `url`. The results have highlights and a summary of each page, as V1 asks for."""

    def __init__(self, web: HttpWeb, url: str = EXA_URL) -> None:
        self._web = web
        self._url = f"{url.rstrip('/')}/search"

    def search(self, query: WebQuery, key: str, *, seconds: float) -> WebResults:
        """Send the query once. Raises: SearchFailure."""
        headers = {"x-api-key": key}
        if not sendable(headers):
            raise SearchFailure(
                "the Exa key contains a line break or another character that cannot be sent; set it again without it"
            )
        body, ignored = _body(query)
        try:
            page = self._web.ask(self._url, body, headers, seconds=seconds, most=LARGEST)
        except WebFailure as failure:
            raise SearchFailure(f"Exa could not be reached: {failure}") from failure
        if page.status != 200:
            raise SearchFailure(_refusal(page))
        return WebResults([_result(item) for item in items_of("Exa", page)][: query.results], ignored)


def _body(query: WebQuery) -> tuple[JsonObject, list[str]]:
    """The request, and the arguments that Exa does not support."""
    ignored: list[str] = []
    category = _RENAMED.get(query.category or "", query.category)
    include = list(query.include_domains)
    if category is not None and category not in CATEGORIES:
        if category in _SITES and not include:
            include = [_SITES[category]]
        else:
            ignored.append("category")
        category = None
    dates = {"startPublishedDate": query.published_after, "endPublishedDate": query.published_before}
    if category in UNDATED and any(dates.values()):
        ignored += [
            name for name, date in zip(("start_published_date", "end_published_date"), dates.values(), strict=True) if date
        ]
        dates = {}
    request: JsonObject = {
        "query": query.text,
        "type": "auto",
        "numResults": min(query.results, MOST_RESULTS),
        "category": category,
        "includeDomains": include,
        "excludeDomains": list(query.exclude_domains),
        "userLocation": query.location,
        **dates,
    }
    contents: JsonObject = {
        "highlights": {"query": query.text},
        "summary": {"query": f"What the page says about: {query.text}"},
        **({"text": True} if query.with_text else {}),
    }
    return {**{name: value for name, value in request.items() if value}, "contents": contents}, ignored


def _result(item: JsonObject) -> WebResult:
    highlights = item.get("highlights")
    return WebResult(
        title=text_of(item.get("title")),
        url=text_of(item.get("url")) or "",
        published=text_of(item.get("publishedDate")),
        author=text_of(item.get("author")),
        text=text_of(item.get("text")),
        highlights=[each for each in highlights if isinstance(each, str)] if isinstance(highlights, list) else [],
        summary=text_of(item.get("summary")),
    )


def _refusal(page: WebPage) -> str:
    if page.status in _CAUSES:
        return f"{_CAUSES[page.status]} ({page.status})"
    message: Json = (object_of(page) or {}).get("error")
    reason = f": {message[:300]}" if isinstance(message, str) and page.status == 400 else ""
    return f"Exa answered {page.status}{reason}"
