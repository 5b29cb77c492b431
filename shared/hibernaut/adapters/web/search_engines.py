"""The search engine of a call of `web_search`: Exa if there is a key, else the deployment's SearXNG. Must not know: the requests
of either.

EXA_API_KEY       key for Exa; a secret of this name of the agent takes precedence
EXA_BASE_URL      another address of Exa
SEARXNG_BASE_URL  address of a SearXNG server, which needs no key
"""

from __future__ import annotations

from hibernaut.adapters.web.exa import EXA_URL, ExaSearch
from hibernaut.adapters.web.http import HttpWeb
from hibernaut.adapters.web.searxng import SearxngSearch
from hibernaut.ports.storage.secrets import Secrets
from hibernaut.ports.tools.web_search import EXA_ADDRESS, EXA_KEY, SEARXNG_ADDRESS, SearchFailure, WebQuery, WebResults

NOT_CONFIGURED = (
    "no search engine is configured: set EXA_API_KEY among the agent's secrets, or on the server EXA_API_KEY or SEARXNG_BASE_URL. "
    "fetch_webpage reads a page whose address is known"
)


class WebSearchEngines:
    """The engines that the secrets configure. They are read at each search, so that a new key needs no restart where secrets
    change. The operator names the engines' addresses, so `web` may connect to any.
    """

    def __init__(self, secrets: Secrets, web: HttpWeb) -> None:
        self._secrets = secrets
        self._web = web

    def search(self, query: WebQuery, key: str | None, *, seconds: float) -> WebResults:
        """As the port says. Raises: SearchFailure, SecretsUnavailable."""
        key = key or self._secrets.get(EXA_KEY)
        if key:
            return ExaSearch(self._web, self._secrets.get(EXA_ADDRESS) or EXA_URL).search(query, key, seconds=seconds)
        address = self._secrets.get(SEARXNG_ADDRESS)
        if address:
            return SearxngSearch(self._web, address).search(query, seconds=seconds)
        raise SearchFailure(NOT_CONFIGURED)
