"""The search engines of `web_search`, imported at the first search: most runs search nothing."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hibernaut.ports.storage.secrets import Secrets
from hibernaut.ports.tools.web_search import WebQuery, WebResults

if TYPE_CHECKING:
    from hibernaut.adapters.web.search_engines import WebSearchEngines


class LazyWebSearch:
    """`WebSearchEngines` that are created at the first search. The operator names their addresses, which may be private ones."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    @cached_property
    def _engines(self) -> WebSearchEngines:
        from hibernaut.adapters.addresses import ANYWHERE
        from hibernaut.adapters.web.http import HttpWeb
        from hibernaut.adapters.web.search_engines import WebSearchEngines

        return WebSearchEngines(self._secrets, HttpWeb(ANYWHERE))

    def search(self, query: WebQuery, key: str | None, *, seconds: float) -> WebResults:
        """As the port says."""
        return self._engines.search(query, key, seconds=seconds)
