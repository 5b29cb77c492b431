"""Search engines on loopback that enforce their documented rules. They must not know who asks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from tests.support.json_server import JsonServer

EXA_KEY = "exa-key-planted"
PAGE: dict[str, Any] = {
    "id": "https://birds.example/parrots",
    "url": "https://birds.example/parrots",
    "title": "Parrots",
    "publishedDate": "2026-03-01T00:00:00.000Z",
    "author": "Ann",
}


def _problem(status: int, tag: str, error: str) -> tuple[int, Any]:
    # exa.ai/docs/admin/error-codes: a request id, a text for people, and a tag.
    return status, {"requestId": "0123456789abcdef", "error": error, "tag": tag}


class ExaServer(JsonServer):
    """Exa's `POST /search` (exa.ai/docs/reference/search). `fails`: a status that it answers instead, or bytes."""

    CATEGORIES = ("company", "people", "research paper", "news", "personal site", "financial report")
    FIELDS: ClassVar[dict[str, type]] = {
        "query": str,
        "type": str,
        "numResults": int,
        "category": str,
        "includeDomains": list,
        "excludeDomains": list,
        "startPublishedDate": str,
        "endPublishedDate": str,
        "userLocation": str,
        "contents": dict,
    }

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.url = self.address
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.fails: int | bytes | None = None

    def _reply(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        self.keys.append(headers.get("x-api-key", ""))
        if path != "/search" or not body:
            return _problem(404, "NOT_FOUND", "no such route")
        if headers.get("x-api-key") not in (EXA_KEY, f"{EXA_KEY}-of-an-agent"):  # 401: the key is missing or invalid
            return _problem(401, "INVALID_API_KEY", "Invalid API key")
        asked = json.loads(body)
        self.asked.append(asked)
        if isinstance(self.fails, bytes):
            return 200, self.fails
        if self.fails is not None:
            return _problem(self.fails, "OTHER", "something else")
        return self._problem_of(asked) or (200, {"requestId": "0123456789abcdef", "results": self._results(asked)})

    def _problem_of(self, asked: dict[str, Any]) -> tuple[int, Any] | None:
        unknown = [name for name, value in asked.items() if not isinstance(value, self.FIELDS.get(name, ()))]
        if unknown or not asked.get("query"):  # the query has at least one character
            return _problem(400, "INVALID_REQUEST_BODY", f"Invalid request body: {unknown or 'query'}")
        if not 1 <= asked.get("numResults", 10) <= 100:
            return _problem(400, "INVALID_NUM_RESULTS", "numResults must be from 1 to 100")
        if asked.get("category", "news") not in self.CATEGORIES:
            return _problem(400, "INVALID_REQUEST_BODY", "Invalid category")
        if max(len(asked.get(name, [])) for name in ("includeDomains", "excludeDomains")) > 1200:
            return _problem(400, "INVALID_REQUEST_BODY", "at most 1200 domains")
        dated = "startPublishedDate" in asked or "endPublishedDate" in asked
        if dated and asked.get("category") in ("company", "people"):
            return _problem(400, "INVALID_REQUEST", "dates cannot be combined with this category")
        return None

    def _results(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        contents = asked.get("contents", {})
        told = {"highlights": ["Green and blue."], "summary": "About parrots.", "text": "All about parrots."}
        # What `contents` does not ask for is not returned.
        found = {**PAGE, **{name: told[name] for name in told if contents.get(name)}}
        return [found] * min(asked.get("numResults", 10), 3)


class SearxngServer(JsonServer):
    """SearXNG's `GET /search` (docs.searxng.org/dev/search_api). `formats`: those of its settings."""

    def __init__(self, *formats: str) -> None:
        super().__init__(self._reply)
        self.url = self.address
        self.formats = formats or ("html", "json")
        self.asked: list[dict[str, str]] = []
        self.results: list[dict[str, Any]] = [
            {
                "url": "https://birds.example/parrots",
                "title": "Parrots",
                "content": "Green.",
                "publishedDate": "2026-03-01T00:00:00",
            },
            {"url": "https://shop.example/seed", "title": "Seed", "content": "", "publishedDate": None},
        ]

    def _reply(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:  # noqa: ARG002  as the server asks
        asked = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        self.asked.append(asked)
        if urlsplit(path).path not in ("/", "/search"):
            return 404, {}
        if not asked.get("q"):
            return 400, {"error": "no query"}
        if asked.get("format", "html") not in self.formats:  # "Requesting an unset format will return a 403 Forbidden error."
            return 403, b"<html>Forbidden</html>"
        return 200, {"query": asked["q"], "results": self.results if asked.get("pageno", "1") == "1" else []}
