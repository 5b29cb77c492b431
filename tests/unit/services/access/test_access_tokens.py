"""Client-side access tokens as records: what a stored one says, who finds it, and how long it stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import ValidationError

from hibernaut.schemas.access.access_token import AccessToken, CreateAccessToken
from hibernaut.schemas.access.api_key import NO_AGENT, CreateApiKey, RotateApiKey
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.errors import InvalidArgument, NotFound, Unauthenticated
from hibernaut.services.access.access import Access
from hibernaut.services.access.access_tokens import AccessTokens
from hibernaut.store.access.api_keys import TOKENS_KEPT
from hibernaut.store.table import keys
from tests.unit.services.access.conftest import Deployment

ONE, TWO = (f"agent-00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))


def wanted(*access: str, agent_id: str = ONE, hostname: str = "https://app.example") -> CreateAccessToken:
    policy = [{"type": "agent", "id": agent_id, "access": access or ("read_messages",)}]
    return CreateAccessToken.model_validate({"policy": policy, "hostname": hostname})


def made(access: Access, *rights: str, agent_id: str = ONE) -> AccessToken:
    return AccessTokens(access.keys_of("acme")).create(wanted(*rights, agent_id=agent_id))


def test_a_principal_has_the_rights_of_the_policy(deployment: Deployment) -> None:
    access = deployment.process()
    principal = access.authentication.authenticate(made(access, "read_messages", "write_messages", "read_messages").token)
    assert (principal.kind, principal.scope, principal.origin) == ("client", Scope.WRITE, "https://app.example")
    assert principal.agent_ids == {ONE}
    assert principal.grants == {(ONE, "read_messages"), (ONE, "write_messages")}
    assert access.authentication.authenticate(made(access, "read_agent").token).scope is Scope.READ


def test_a_release_that_knows_no_policies_lets_a_token_reach_nothing(deployment: Deployment) -> None:
    access = deployment.process()
    token = made(access)
    (stored,) = access.keys_of("acme").list()
    assert (stored.kind, stored.agent_ids, stored.agent_tags) == ("client", [NO_AGENT], [])
    assert stored.public().agent_ids == [ONE]
    assert token.token not in stored.model_dump_json()


def test_a_token_lives_five_minutes_unless_its_request_says_otherwise(deployment: Deployment) -> None:
    access = deployment.process()
    token = made(access).token
    deployment.clock.sleep(299)
    assert access.authentication.authenticate(token)
    deployment.clock.sleep(1)
    with pytest.raises(Unauthenticated):
        access.authentication.authenticate(token)
    assert AccessTokens(access.keys_of("acme")).list(None, offset=0, limit=10).tokens == []
    (row,) = deployment.engine.query(keys.api_key_row("acme", "key").pk)
    assert row["ttl"] == int((deployment.clock.now() + TOKENS_KEPT).timestamp())


@pytest.mark.parametrize("life", [timedelta(0), timedelta(days=30, seconds=1)])
def test_a_life_of_nothing_or_of_more_than_thirty_days_is_refused(deployment: Deployment, life: timedelta) -> None:
    request = wanted().model_copy(update={"expires_at": deployment.clock.now() + life})
    with pytest.raises(InvalidArgument):
        AccessTokens(deployment.process().keys_of("acme")).create(request)


def test_a_token_is_deleted_by_its_id_or_by_itself_in_its_own_tenant(deployment: Deployment) -> None:
    access = deployment.process()
    one, two = made(access), made(access)
    tokens = AccessTokens(access.keys_of("acme"))
    plain = access.keys_of("acme").create(CreateApiKey(scope=Scope.READ))
    for name in (one.token, plain.id, plain.key, "x"):
        with pytest.raises(NotFound):
            (AccessTokens(access.keys_of("other")) if name == one.token else tokens).delete(name)
    tokens.delete(one.token)
    (left,) = tokens.list(None, offset=0, limit=10).tokens
    tokens.delete(left.token)
    assert access.authentication.authenticate(plain.key)
    for gone in (one, two):
        with pytest.raises(Unauthenticated):
            access.authentication.authenticate(gone.token)


def test_pages_hold_the_usable_tokens_of_an_agent_in_order(deployment: Deployment) -> None:
    access = deployment.process()
    tokens = AccessTokens(access.keys_of("acme"))
    for number in range(7):
        access.keys_of("acme").create(CreateApiKey(scope=Scope.READ))
        made(access, agent_id=(ONE, TWO)[number % 2])
    every = [one.token for one in tokens.list(None, offset=0, limit=10).tokens]
    assert len(every) == 7
    page = tokens.list(ONE, offset=1, limit=2)
    assert ([one.token for one in page.tokens], page.has_next_page) == (every[2:6:2], True)
    assert not tokens.list(ONE, offset=2, limit=2).has_next_page


def test_a_rotated_token_keeps_its_policy(deployment: Deployment) -> None:
    access = deployment.process()
    token = made(access, "write_messages")
    (stored,) = access.keys_of("acme").list()
    after = access.authentication.authenticate(access.keys_of("acme").rotate(stored.id, RotateApiKey()).key)
    before = access.authentication.authenticate(token.token)
    assert (after.grants, after.origin, after.agent_ids) == (before.grants, before.origin, before.agent_ids)


@pytest.mark.parametrize(
    ("hostname", "origin"),
    [
        ("https://App.Example/", "https://app.example"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://a:80", "http://a"),
        ("https://[::1]:444", "https://[::1]:444"),
    ],
)
def test_a_host_is_the_origin_that_a_browser_sends(hostname: str, origin: str) -> None:
    assert wanted(hostname=hostname).hostname == origin


@pytest.mark.parametrize(
    "hostname",
    [
        "",
        "app.example",
        "ftp://a",
        "https://",
        "https://a/b",
        "https://a?b",
        "https://u@a",
        "https://a:x",
        "https://a b",
        "*",
        "https://ü.example",
    ],
)
def test_what_is_no_origin_is_refused(hostname: str) -> None:
    with pytest.raises(ValidationError, match="origin"):
        wanted(hostname=hostname)
