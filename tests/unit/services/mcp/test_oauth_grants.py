"""Access tokens that expire: one process asks for a new one, whoever calls at the same time, and what comes of each answer."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.domain.tools.mcp.oauth import Tokens
from hibernaut.ports.tools.mcp import McpFailure
from hibernaut.ports.tools.oauth import OAuthAnswer, OAuthUnreachable
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.mcp.oauth import OAuthParties
from hibernaut.services.mcp.oauth_grants import LEASE, OAuthGrants
from tests.support.scripted_model import in_turn, says
from tests.support.world import World, data_in

URL = "https://mcp.example/mcp"
PARTIES = OAuthParties(
    server_url=URL,
    resource=URL,
    issuer="https://login.example",
    token_endpoint="https://login.example/token",
    client_id="me",
    client_method="none",
    callback="https://us.example/cb",
)


@dataclass
class TokenEndpoint:
    """Answers refresh tokens, each once (OAuth 2.1, 4.3.1). `answer`: another answer. `meanwhile` runs while the answer is under
    way.
    """

    asked: list[dict[str, str]] = field(default_factory=list)
    answer: OAuthAnswer | None = None
    reached: bool = True
    meanwhile: Any = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, url: str) -> OAuthAnswer:
        raise NotImplementedError(url)

    def register(self, url: str, client: JsonObject) -> OAuthAnswer:
        raise NotImplementedError(url, client)

    def token(self, url: str, form: Mapping[str, str], basic: tuple[str, str] | None = None) -> OAuthAnswer:
        del url, basic
        with self.lock:
            again = form["refresh_token"] in [each["refresh_token"] for each in self.asked]
            self.asked.append(dict(form))
            number = len(self.asked)
        if self.meanwhile is not None:
            self.meanwhile()
        if not self.reached:
            raise OAuthUnreachable("there is no answer")
        if again:
            return OAuthAnswer(400, {"error": "invalid_grant"})
        fresh = {
            "access_token": f"access-{number}",
            "token_type": "Bearer",
            "refresh_token": f"refresh-{number}",
            "expires_in": 600,
        }
        return self.answer or OAuthAnswer(200, fresh)


@dataclass
class Granted:
    grants: OAuthGrants
    endpoint: TokenEndpoint
    clock: Any


@pytest.fixture
def granted(tmp_path: Path) -> Granted:
    """Tokens for ten minutes, of which nine and a half are over."""
    world, endpoint = World(data_in(tmp_path, in_turn(says("Hello.")))), TokenEndpoint()
    host = replace(world.host, oauth=endpoint, cipher=KeyFileCipher(tmp_path / "key"))
    grants = OAuthGrants(world.stores, host)
    grants.keep(PARTIES, Tokens("access-0", "refresh-0", 600), None)
    world.data.clock.time += timedelta(seconds=570)
    return Granted(grants, endpoint, world.data.clock)


def test_many_calls_at_once_replace_a_token_once(granted: Granted) -> None:
    start = threading.Barrier(8)

    def call(_: int) -> str | None:
        start.wait(30)
        return granted.grants.token(URL)

    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(call, range(8)))
    assert found <= {"access-0", "access-1"}
    assert granted.grants.token(URL) == "access-1"
    assert [form["refresh_token"] for form in granted.endpoint.asked] == ["refresh-0"]
    assert granted.endpoint.asked[0]["resource"] == URL


def test_a_call_during_the_replacement_uses_the_token_that_is_still_good(granted: Granted) -> None:
    seen: list[str | None] = []
    granted.endpoint.meanwhile = lambda: seen.append(granted.grants.token(URL))
    assert granted.grants.token(URL) == "access-1"
    assert seen == ["access-0"]


def test_a_process_that_dies_while_it_asks_is_followed_by_another(granted: Granted) -> None:
    def dies() -> None:
        raise KeyboardInterrupt

    granted.endpoint.meanwhile = dies
    with pytest.raises(KeyboardInterrupt):
        granted.grants.token(URL)
    granted.endpoint.meanwhile = None
    assert granted.grants.token(URL) == "access-0"
    granted.endpoint.asked.clear()
    granted.clock.time += LEASE
    assert granted.grants.token(URL) == "access-1"


def test_without_an_answer_the_old_token_serves_until_it_expires(granted: Granted) -> None:
    granted.endpoint.reached = False
    assert granted.grants.token(URL) == "access-0"
    granted.clock.time += timedelta(seconds=60)
    with pytest.raises(McpFailure) as failure:
        granted.grants.token(URL)
    assert failure.value.problem == "unreachable"


@pytest.mark.parametrize(
    "answer", [OAuthAnswer(400, {"error": "invalid_grant"}), OAuthAnswer(500), OAuthAnswer(200, "rubbish"), OAuthAnswer(200, {})]
)
def test_a_refusal_ends_the_grant_and_says_to_connect_again(granted: Granted, answer: OAuthAnswer) -> None:
    granted.endpoint.answer = answer
    assert granted.grants.token(URL) == "access-0"
    granted.clock.time += timedelta(seconds=60)
    with pytest.raises(McpFailure, match="connect it again") as failure:
        granted.grants.token(URL)
    assert failure.value.problem == "unauthorized"
    assert len(granted.endpoint.asked) == 1
    granted.grants.keep(PARTIES, Tokens("new", None, 600), None)
    assert granted.grants.token(URL) == "new"


def test_nothing_is_known_of_other_addresses_and_after_it_is_forgotten(granted: Granted) -> None:
    assert granted.grants.token("https://mcp.example/other") is None
    granted.grants.forget(URL)
    granted.grants.forget(URL)
    assert granted.grants.token(URL) is None
