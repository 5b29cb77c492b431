"""The search engines of `web_search`: what each is asked, what it returns, and what its refusals say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hibernaut.adapters.addresses import ANYWHERE
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.adapters.web.http import HttpWeb
from hibernaut.adapters.web.search_engines import WebSearchEngines
from hibernaut.ports.tools.web_search import NO_WEB_SEARCH, SearchFailure, WebQuery, WebResult, WebResults
from tests.support.search_servers import EXA_KEY, ExaServer, SearxngServer

PARROTS = "https://birds.example/parrots"


@pytest.fixture
def exa() -> Iterator[ExaServer]:
    with ExaServer() as server:
        yield server


def found(query: WebQuery, key: str | None = None, **secrets: str) -> WebResults:
    return WebSearchEngines(EnvironmentSecrets(secrets), HttpWeb(ANYWHERE)).search(query, key, seconds=10)


def by_exa(server: ExaServer, query: WebQuery, key: str = EXA_KEY) -> WebResults:
    return found(query, EXA_API_KEY=key, EXA_BASE_URL=server.url)


def test_exa_returns_highlights_and_a_summary_and_the_text_where_it_is_asked_for(exa: ExaServer) -> None:
    page = WebResult("Parrots", PARROTS, "2026-03-01T00:00:00.000Z", "Ann", None, ["Green and blue."], "About parrots.")
    assert by_exa(exa, WebQuery("parrots", 2)).results == [page, page]
    assert by_exa(exa, WebQuery("parrots", 1, with_text=True)).results[0].text == "All about parrots."
    assert "text" not in exa.asked[0]["contents"]


def test_every_argument_reaches_exa_under_its_name(exa: ExaServer) -> None:
    query = WebQuery("parrots", 100, "news", False, ["a.example"], ["b.example"], "2026-01-01", "2026-02-01", "NO")
    assert by_exa(exa, query).ignored == []
    asked = {name: value for name, value in exa.asked[0].items() if name != "contents"}
    assert asked == {
        "query": "parrots",
        "type": "auto",
        "numResults": 100,
        "category": "news",
        "includeDomains": ["a.example"],
        "excludeDomains": ["b.example"],
        "startPublishedDate": "2026-01-01",
        "endPublishedDate": "2026-02-01",
        "userLocation": "NO",
    }


@pytest.mark.parametrize(
    ("category", "sent", "domains", "ignored"),
    [
        ("linkedin profile", "people", None, ["start_published_date"]),
        ("company", "company", None, ["start_published_date"]),
        ("github", None, ["github.com"], []),
        ("tweet", None, ["x.com"], []),
        ("pdf", None, None, ["category"]),
        ("research paper", "research paper", None, []),
    ],
)
def test_categories_of_v1_that_exa_has_withdrawn_are_replaced_or_told(
    exa: ExaServer, category: str, sent: str | None, domains: list[str] | None, ignored: list[str]
) -> None:
    results = by_exa(exa, WebQuery("parrots", category=category, published_after="2026-01-01"))
    assert (exa.asked[0].get("category"), exa.asked[0].get("includeDomains"), results.ignored) == (sent, domains, ignored)


def test_the_key_of_an_agent_takes_precedence_and_goes_nowhere_else(exa: ExaServer) -> None:
    own = f"{EXA_KEY}-of-an-agent"
    with SearxngServer() as searxng:
        found(WebQuery("parrots"), own, EXA_API_KEY="deployment", EXA_BASE_URL=exa.url, SEARXNG_BASE_URL=searxng.url)
        assert (exa.keys, searxng.asked) == ([own], [])


@pytest.mark.parametrize(
    ("fails", "why"),
    [
        (402, "credits of the Exa account are used up"),
        (429, "no more requests at the moment"),
        (503, "Exa answered 503"),
        (400, "Exa answered 400: something else"),
        (302, "Exa answered 302"),
        (b"<html>", "something else than results"),
        (b'{"results": 7}', "something else than results"),
        (b"[" * 100_000, "something else than results"),
    ],
)
def test_a_refusal_of_exa_says_why(exa: ExaServer, fails: int | bytes, why: str) -> None:
    exa.fails = fails
    with pytest.raises(SearchFailure, match=why):
        by_exa(exa, WebQuery("parrots"))
    assert len(exa.asked) == 1, "once"


def test_a_wrong_key_is_named_and_never_quoted(exa: ExaServer) -> None:
    with pytest.raises(SearchFailure, match=r"refused the key: check EXA_API_KEY .* \(401\)") as failure:
        by_exa(exa, WebQuery("parrots"), "exa-wrong")
    assert "exa-wrong" not in str(failure.value)
    with pytest.raises(SearchFailure, match="cannot be sent") as failure:
        by_exa(exa, WebQuery("parrots"), "exa-wrong\n")
    assert "exa-wrong" not in str(failure.value)


def test_an_engine_that_is_not_there_is_named() -> None:
    with pytest.raises(SearchFailure, match="Exa could not be reached"):
        found(WebQuery("parrots"), EXA_API_KEY="k", EXA_BASE_URL="http://127.0.0.1:2")
    with pytest.raises(SearchFailure, match="SearXNG could not be reached"):
        found(WebQuery("parrots"), SEARXNG_BASE_URL="http://127.0.0.1:2")


def test_searxng_needs_no_key() -> None:
    with SearxngServer() as server:
        results = found(WebQuery("parrots & co", 2), SEARXNG_BASE_URL=server.url + "/")
        assert results.results == [
            WebResult("Parrots", PARROTS, "2026-03-01T00:00:00", highlights=["Green."]),
            WebResult("Seed", "https://shop.example/seed", highlights=[]),
        ]
        assert server.asked == [{"q": "parrots & co", "format": "json", "pageno": "1"}]


@pytest.mark.parametrize(
    ("query", "hosts", "ignored"),
    [
        (WebQuery("x", include_domains=["birds.example"]), ["birds.example"], []),
        (WebQuery("x", include_domains=["*.example"]), ["birds.example", "shop.example"], []),
        (WebQuery("x", exclude_domains=["birds.example"]), ["shop.example"], []),
        (WebQuery("x", include_domains=["rds.example"]), [], []),
        (WebQuery("x", published_after="2026-01-01"), ["birds.example"], []),
        (WebQuery("x", published_after="2026-04-01T00:00:00Z"), [], []),
        (WebQuery("x", published_before="2026-02-01"), [], []),
        (WebQuery("x", with_text=True, location="NO"), ["birds.example", "shop.example"], ["include_text", "user_location"]),
        (WebQuery("x", category="company"), ["birds.example", "shop.example"], ["category"]),
        (WebQuery("x", category="news"), ["birds.example", "shop.example"], []),
    ],
)
def test_what_searxng_does_not_do_is_done_here_or_told(query: WebQuery, hosts: list[str], ignored: list[str]) -> None:
    with SearxngServer() as server:
        results = found(query, SEARXNG_BASE_URL=server.url)
        assert [result.url.split("/")[2] for result in results.results] == hosts
        assert results.ignored == ignored


def test_a_searxng_without_json_says_what_to_switch_on() -> None:
    with SearxngServer("html") as server, pytest.raises(SearchFailure, match=r"search\.formats"):
        found(WebQuery("parrots"), SEARXNG_BASE_URL=server.url)


def test_without_an_engine_the_failure_names_what_to_set() -> None:
    with pytest.raises(SearchFailure, match=r"EXA_API_KEY among the agent's secrets.*SEARXNG_BASE_URL"):
        found(WebQuery("parrots"))
    with pytest.raises(SearchFailure):
        NO_WEB_SEARCH.search(WebQuery("parrots"), None, seconds=1)
