"""Flows that a user has been asked for: their time, and what each end leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.domain.tools.mcp.oauth import OAuthFault
from hibernaut.ports.tools.oauth import OAuthAnswer
from hibernaut.schemas.base import JsonObject
from hibernaut.services.mcp.oauth_flows import ANSWERED, EXPIRED, LIFE, OAuthFlows
from hibernaut.services.mcp.oauth_grants import OAuthGrants
from tests.support.scripted_model import in_turn, says
from tests.support.world import World, data_in

URL, ISSUER, CALLBACK = "https://mcp.example/mcp", "https://login.example", "https://us.example/cb"


@dataclass
class Login:
    """An authorization server whose clients authenticate by `method`."""

    method: str = "none"
    forms: list[tuple[dict[str, str], tuple[str, str] | None]] = field(default_factory=list)
    registered: int = 0
    repeats: bool = False

    def get(self, url: str) -> OAuthAnswer:
        if "protected-resource" in url:
            return OAuthAnswer(200, {"resource": URL, "authorization_servers": [ISSUER]})
        places = {name: f"{ISSUER}/{name}" for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint")}
        return OAuthAnswer(200, {"issuer": ISSUER, "code_challenge_methods_supported": ["S256"], **places})

    def register(self, url: str, client: JsonObject) -> OAuthAnswer:
        del url, client
        self.registered += 1
        secret = {} if self.method == "none" else {"client_secret": "planted-secret"}
        return OAuthAnswer(201, {"client_id": f"client-{self.registered}", "token_endpoint_auth_method": self.method, **secret})

    def token(self, url: str, form: Mapping[str, str], basic: tuple[str, str] | None = None) -> OAuthAnswer:
        del url
        self.forms.append((dict(form), basic))
        if self.repeats:
            return OAuthAnswer(
                400, {"error": "invalid_grant", "error_description": " ".join([*form.values(), *(basic or ())])[-200:]}
            )
        return OAuthAnswer(200, {"access_token": "planted-access", "token_type": "bearer"})


@dataclass
class Flows:
    flows: OAuthFlows
    grants: OAuthGrants
    login: Login
    world: World

    def begin(self) -> tuple[str, str]:
        """The state of a new flow, and its digest."""
        begun = self.flows.begin(URL, "Bearer", CALLBACK)
        return parse_qs(urlsplit(begun.address).query)["state"][0], begun.digest

    def stored(self) -> str:
        return repr([*self.world.data.table.query("default#OAUTHFLOWS"), *self.world.data.table.query("default#OAUTHGRANTS")])


@pytest.fixture
def made(tmp_path: Path) -> Flows:
    world, login = World(data_in(tmp_path, in_turn(says("Hello.")))), Login()
    host = replace(world.host, oauth=login, cipher=KeyFileCipher(tmp_path / "key"))
    grants = OAuthGrants(world.stores, host)
    return Flows(OAuthFlows(world.stores, host, grants), grants, login, world)


def test_an_answer_comes_within_ten_minutes_and_once(made: Flows) -> None:
    late, digest = made.begin()
    clock: Any = made.world.data.clock
    clock.time += LIFE
    assert made.flows.look(digest) == ("failed", EXPIRED)
    with pytest.raises(OAuthFault, match="expired"):
        made.flows.answer(late, {"code": "c"})
    assert made.login.forms == []
    state, digest = made.begin()
    clock.time += LIFE - timedelta(seconds=1)
    made.flows.answer(state, {"code": "c"})
    assert made.flows.look(digest) == ("authorized", None)
    with pytest.raises(OAuthFault, match=ANSWERED):
        made.flows.answer(state, {"code": "c"})
    assert made.grants.token(URL) == "planted-access"


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_a_client_is_registered_once_and_its_secrets_are_sealed(made: Flows, method: str) -> None:
    made.login.method = method
    state, _ = made.begin()
    made.flows.answer(state, {"code": "c"})
    form, basic = made.login.forms[0]
    assert (form.get("client_secret"), basic) == {
        "none": (None, None),
        "client_secret_basic": (None, ("client-1", "planted-secret")),
        "client_secret_post": ("planted-secret", None),
    }[method]
    again, _ = made.begin()
    made.flows.answer(again, {"code": "c"})
    assert made.login.registered == 1
    for secret in ("planted", form["code_verifier"], state):
        assert secret not in made.stored()


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_a_refusal_that_repeats_what_was_sent_tells_no_secret(made: Flows, method: str) -> None:
    made.login.method, made.login.repeats = method, True
    state, digest = made.begin()
    with pytest.raises(OAuthFault, match="invalid_grant") as raised:
        made.flows.answer(state, {"code": "planted-code"})
    form, _ = made.login.forms[0]
    for told in (str(raised.value), str(made.flows.look(digest)[1]), made.stored()):
        assert "planted" not in told
        assert form["code_verifier"] not in told


@pytest.mark.parametrize("given", [{}, {"code": ""}, {"error": "access_denied"}, {"code": "c", "iss": "https://evil.example"}])
def test_a_failed_answer_leaves_no_tokens_and_no_secret(made: Flows, given: dict[str, str]) -> None:
    state, digest = made.begin()
    with pytest.raises(OAuthFault):
        made.flows.answer(state, given)
    status, fault = made.flows.look(digest)
    assert (status, bool(fault)) == ("failed", True)
    assert made.login.forms == []
    assert made.grants.token(URL) is None
    with pytest.raises(OAuthFault, match="answered before"):
        made.flows.answer(state, {"code": "c"})
