"""A server with an identity provider over HTTP: tokens beside keys, and tenants apart."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime

import httpx
import pytest

from hibernaut.local.server import LocalServer, address, listening
from hibernaut.rest.app import create_app
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.issuer import AUDIENCE, Issuer

AGENT = {"model": "hibernaut/demo", "memory_blocks": []}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as made:
        yield made


@pytest.fixture(scope="module")
def server(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    variables = {"HIBERNAUT_DATA": str(tmp_path_factory.mktemp("data")), "HIBERNAUT_DEFAULT_EMBEDDING": "none"}
    trusted = {"HIBERNAUT_JWT_ISSUER": issuer.address, "HIBERNAUT_JWT_AUDIENCE": AUDIENCE}
    with Embedded(EmbeddedSettings.from_environment(variables | trusted)) as house, ExitStack() as running:
        app = create_app(services_of(house.stores, house.host, house.engines), access=house.access)
        listener = listening("127.0.0.1", 0)
        local = LocalServer(app, listener)
        thread = threading.Thread(target=local.serve, daemon=True)
        running.callback(thread.join)
        running.callback(local.stop)
        thread.start()
        yield address(listener)


def bearer(issuer: Issuer, **claims: object) -> dict[str, str]:
    return {"authorization": f"Bearer {issuer.token(datetime.now(UTC), **claims)}"}


def test_a_token_opens_its_own_tenant_only(server: str, issuer: Issuer) -> None:
    acme, other = bearer(issuer), bearer(issuer, tenant="other", scope="hibernaut:admin")
    made = httpx.post(f"{server}/v1/agents", json=AGENT, headers=acme, timeout=30)
    assert made.status_code == 200
    agent = made.json()["id"]
    assert [each["id"] for each in httpx.get(f"{server}/v1/agents", headers=acme).json()] == [agent]
    for named in ({}, {"user_id": "user-12345678-1234-4234-8234-123456789012", "x-organization-id": "acme", "x-tenant": "acme"}):
        assert httpx.get(f"{server}/v1/agents?tenant=acme", headers=other | named).json() == []
        assert httpx.get(f"{server}/v1/agents/{agent}", headers=other | named).status_code == 404
        assert httpx.delete(f"{server}/v1/agents/{agent}", headers=other | named).status_code == 404


def test_a_message_is_counted_for_the_pseudonym_of_the_user(server: str, issuer: Issuer) -> None:
    agent = httpx.post(f"{server}/v1/agents", json=AGENT, headers=bearer(issuer), timeout=30).json()["id"]
    said = {"messages": [{"role": "user", "content": "hi"}]}
    for subject in ("user-1", "user-2"):
        sent = httpx.post(f"{server}/v1/agents/{agent}/messages", json=said, headers=bearer(issuer, sub=subject), timeout=30)
        assert sent.status_code == 200
    rows = httpx.get(f"{server}/v1/usage?agent_id={agent}", headers=bearer(issuer)).json()["rows"]
    keys = {row["key_id"] for row in rows}
    assert len(keys) == 2
    assert all(key.startswith("jwt-") for key in keys)


def test_scopes_of_tokens_hold_as_those_of_keys(server: str, issuer: Issuer) -> None:
    reader, admin = bearer(issuer, scope="hibernaut:read"), bearer(issuer, scope="hibernaut:admin")
    assert httpx.post(f"{server}/v1/agents", json=AGENT, headers=reader).status_code == 403
    assert httpx.get(f"{server}/v1/api-keys", headers=reader).status_code == 403
    key = httpx.post(f"{server}/v1/api-keys", json={"scope": "read"}, headers=admin).json()
    assert key["tenant"] == "acme"
    assert httpx.get(f"{server}/v1/agents", headers={"x-api-key": key["key"]}).status_code == 200


def test_what_is_no_usable_token_is_401_in_the_body_of_v1(server: str, issuer: Issuer) -> None:
    for headers, fault in (
        ({}, "missing"),
        (bearer(issuer, exp=1), "token_expired"),
        (bearer(issuer, aud="x"), "token_audience"),
    ):
        refused = httpx.get(f"{server}/v1/agents", headers=headers)
        assert (refused.status_code, refused.json()) == (401, {"detail": "Unauthorized"})
        assert f'error="{fault}"' in refused.headers["www-authenticate"]
    assert httpx.get(f"{server}/v1/health/").status_code == 200


def test_a_token_in_the_query_is_refused(server: str, issuer: Issuer) -> None:
    token = issuer.token(datetime.now(UTC))
    refused = httpx.get(f"{server}/v1/agents?access_token={token}", headers=bearer(issuer))
    assert refused.status_code == 400
    assert token not in refused.text
