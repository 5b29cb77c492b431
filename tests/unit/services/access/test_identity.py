"""Tokens of an identity provider: which are refused and why, whose tenant they open, and how often the issuer is asked."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.identity.signing_keys import AFTER_FAILURE, AGAIN_SECONDS, FRESH_SECONDS, LONGEST_STALE
from hibernaut.domain.identity_tokens import LEEWAY_SECONDS, LONGEST_TOKEN
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.errors import IdentityProviderUnavailable, ScopeTooNarrow, Unauthenticated
from hibernaut.services.access.access import Access
from hibernaut.services.access.identity import IdentityProvider
from hibernaut.store.table.tenants import is_tenant
from hibernaut.wiring.identity import identity_in, identity_provider_of
from tests.support.clocks import ManualClock
from tests.support.issuer import ALGORITHMS, AUDIENCE, Issuer, encoded, listed, private_key
from tests.unit.services.access.conftest import Deployment
from tests.unit.services.access.test_authentication import fault, new_key

Forged = Callable[[Issuer, ManualClock], str]


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as made:
        yield made


def process(deployment: Deployment, issuer: Issuer, **settings: str) -> Access:
    variables = {"HIBERNAUT_JWT_ISSUER": issuer.address, "HIBERNAUT_JWT_AUDIENCE": AUDIENCE, **settings}
    return deployment.process(required=False, identity=identity_provider_of(identity_in(variables), deployment.clock))


def unsigned(issuer: Issuer, clock: ManualClock) -> str:
    return f"{encoded({'alg': 'none', 'typ': 'JWT'})}.{encoded(issuer.claims(clock.now()))}."


def signed_with_the_public_key(issuer: Issuer, clock: ManualClock) -> str:
    """Key confusion: the public key, which everybody has, used as a shared secret."""
    public = private_key("RS256", "first").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = f"{encoded({'alg': 'HS256', 'kid': 'RS256-first'})}.{encoded(issuer.claims(clock.now()))}"
    digest = hmac.new(public, head.encode(), hashlib.sha256).digest()
    return f"{head}.{jwt.utils.base64url_encode(digest).decode()}"


def with_its_own_key(issuer: Issuer, clock: ManualClock) -> str:
    """A token that brings the key that verifies it."""
    headers = {"kid": "RS256-first", "jwk": listed("RS256", "attacker"), "jku": f"{issuer.address}/keys"}
    return jwt.encode(issuer.claims(clock.now()), private_key("RS256", "attacker"), algorithm="RS256", headers=headers)


def of_another_tenant(issuer: Issuer, clock: ManualClock) -> str:
    """A genuine token whose claims were exchanged."""
    head, _, signature = issuer.token(clock.now()).split(".")
    return f"{head}.{encoded(issuer.claims(clock.now(), tenant='other'))}.{signature}"


def deeply_nested(issuer: Issuer, clock: ManualClock) -> str:
    del clock
    return f"{encoded({'alg': 'RS256'})}.{jwt.utils.base64url_encode(b'[' * 9000).decode()}.{encoded(issuer.address)}"


def claiming(**changed: Any) -> Forged:
    return lambda issuer, clock: issuer.token(clock.now(), **changed)


def from_now(name: str, seconds: float) -> Forged:
    return lambda issuer, clock: issuer.token(clock.now(), **{name: clock.now().timestamp() + seconds})


REFUSED: dict[str, tuple[Forged, str]] = {
    "another issuer": (claiming(iss="https://attacker.example"), "token_issuer"),
    "the issuer in other letters": (lambda i, c: i.token(c.now(), iss=i.address.upper()), "token_issuer"),
    "no issuer": (claiming(iss=None), "token_issuer"),
    "expired": (from_now("exp", -LEEWAY_SECONDS), "token_expired"),
    "without expiry": (claiming(exp=None), "token_claims"),
    "an expiry that is a text": (claiming(exp="soon"), "token_claims"),
    "an expiry without end": (claiming(exp=float("inf")), "token_claims"),
    "not yet valid": (from_now("nbf", LEEWAY_SECONDS + 1), "token_early"),
    "another audience": (claiming(aud="billing"), "token_audience"),
    "no audience": (claiming(aud=None), "token_audience"),
    "a foreign client": (claiming(aud=None, client_id="billing"), "token_audience"),
    "a foreign audience beside our client": (claiming(aud="billing", client_id=AUDIENCE), "token_audience"),
    "alg none": (unsigned, "token_algorithm"),
    "key confusion": (signed_with_the_public_key, "token_algorithm"),
    "a key of its own": (with_its_own_key, "token_signature"),
    "a key of another kind": (claiming(algorithm="ES256", kid="RS256-first"), "token_key"),
    "an unknown key": (claiming(kid="unknown"), "token_key"),
    "claims that were exchanged": (of_another_tenant, "token_signature"),
    "no subject": (claiming(sub=None), "token_claims"),
    "no tenant": (claiming(tenant=None), "token_tenant"),
    "a tenant out of the grammar": (claiming(tenant="Acme Corp"), "token_tenant"),
    "a path as the tenant": (claiming(tenant="acme#AGENT"), "token_tenant"),
    "several tenants": (claiming(tenant=["acme", "other"]), "token_tenant"),
    "100 kB": (claiming(padding="x" * 75_000), "token_too_long"),
    "deep nesting": (deeply_nested, "token_malformed"),
    "claims that are no object": (
        lambda i, c: f"{encoded({'alg': 'RS256'})}.{encoded([i.address])}.{encoded(c.passed)}",
        "token_malformed",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_token_is_refused_by_name(deployment: Deployment, issuer: Issuer, name: str) -> None:
    forged, named = REFUSED[name]
    with pytest.raises(Unauthenticated) as refusal:
        process(deployment, issuer).authentication.authenticate(forged(issuer, deployment.clock))
    assert (refusal.value.fault, refusal.value.detail) == (named, "Unauthorized")
    assert refusal.value.hint.endswith(".")
    assert deployment.reads() == 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("kid", ["", None])
def test_a_token_names_the_tenant_and_the_scope(deployment: Deployment, issuer: Issuer, algorithm: str, kid: str | None) -> None:
    token = issuer.token(deployment.clock.now(), algorithm, kid=kid, scope="hibernaut:read hibernaut:admin")
    access = process(deployment, issuer)
    assert access.authentication.remembered(token) is None
    principal = access.authentication.authenticate(token)
    assert (principal.tenant, principal.scope, principal.restricted) == ("acme", Scope.ADMIN, False)
    assert str(principal.key_id).startswith("jwt-")
    assert "user-1" not in str(principal)


class Stated:
    """A verifier whose tokens state what a test says."""

    def __init__(self) -> None:
        self.states: dict[str, Any] = {}

    def claims(self, token: str) -> dict[str, Any]:
        del token
        return self.states


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stated, Access, ManualClock]]:
    """A deployment that believes every token."""
    deployment, verifier = Deployment(tmp_path_factory.mktemp("stated")), Stated()
    rules = identity_in({"HIBERNAUT_JWT_ISSUER": "https://id.example.com", "HIBERNAUT_JWT_AUDIENCE": AUDIENCE})
    assert rules is not None
    yield verifier, deployment.process(identity=IdentityProvider(verifier, rules)), deployment.clock
    deployment.engine.close()


@given(
    tenant=st.one_of(
        st.text(max_size=50),
        st.from_regex(r"[a-z0-9-]{1,41}", fullmatch=True),
        st.integers(),
        st.none(),
        st.lists(st.just("acme")),
    )
)
def test_the_tenant_is_what_the_claim_says_or_there_is_none(stated: tuple[Stated, Access, ManualClock], tenant: Any) -> None:
    """No value of the claim opens another tenant, whatever else the token states."""
    verifier, access, clock = stated
    usual = {"exp": clock.now().timestamp() + 60, "aud": AUDIENCE, "sub": "other", "org": "other", "scope": "hibernaut:read"}
    verifier.states = {**usual, "tenant": tenant}
    usable = isinstance(tenant, str) and is_tenant(tenant)
    assert fault(access, "a.b.c") == (None if usable else "token_tenant")
    if usable:
        assert access.authentication.authenticate("a.b.c").tenant == tenant


def test_scopes_are_those_of_the_setting(deployment: Deployment, issuer: Issuer) -> None:
    access = process(
        deployment,
        issuer,
        HIBERNAUT_JWT_SCOPE_CLAIM="/realm_access/roles",
        HIBERNAUT_JWT_SCOPES="editors=write, https://id.example.com/admins=admin",
        HIBERNAUT_JWT_TENANT_CLAIM="https://id.example.com/tenant",
    )

    def scope(*roles: str) -> Scope:
        claims = {"realm_access": {"roles": roles}, "https://id.example.com/tenant": "acme", "tenant": None}
        return access.authentication.authenticate(issuer.token(deployment.clock.now(), **claims)).scope

    assert scope("editors", "others") is Scope.WRITE
    assert scope("https://id.example.com/admins", "editors") is Scope.ADMIN
    with pytest.raises(ScopeTooNarrow, match="/realm_access/roles has none of the values editors, https"):
        scope("hibernaut:admin")


def test_a_token_without_a_scope_is_refused_unless_a_default_is_set(deployment: Deployment, issuer: Issuer) -> None:
    token = issuer.token(deployment.clock.now(), scope="openid profile")
    with pytest.raises(ScopeTooNarrow):
        process(deployment, issuer).authentication.authenticate(token)
    reader = process(deployment, issuer, HIBERNAUT_JWT_DEFAULT_SCOPE="read")
    assert reader.authentication.authenticate(token).scope is Scope.READ


def test_the_issuer_is_asked_once_and_not_for_foreign_tokens(deployment: Deployment, issuer: Issuer) -> None:
    access, now = process(deployment, issuer), deployment.clock.now()
    for _ in range(3):
        assert fault(access, issuer.token(now, iss="https://other.example")) == "token_issuer"
    assert issuer.asked == []
    for algorithm in ALGORITHMS:
        assert fault(access, issuer.token(now, algorithm)) is None
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]


def test_a_new_key_works_at_once_and_invented_names_ask_the_issuer_rarely(deployment: Deployment, issuer: Issuer) -> None:
    access, clock = process(deployment, issuer), deployment.clock
    assert fault(access, issuer.token(clock.now())) is None
    clock.sleep(AGAIN_SECONDS)
    issuer.keys = [listed("RS256", "second")]
    assert fault(access, issuer.token(clock.now(), name="second")) is None
    assert fault(access, issuer.token(clock.now())) == "token_key"  # it was withdrawn
    asked = len(issuer.asked)
    for number in range(50):
        assert fault(access, issuer.token(clock.now(), kid=f"invented-{number}")) == "token_key"
    assert len(issuer.asked) == asked
    clock.sleep(AGAIN_SECONDS)
    for number in range(50):
        assert fault(access, issuer.token(clock.now(), kid=f"invented-{number}")) == "token_key"
    assert len(issuer.asked) == asked + 2


def test_a_withdrawn_key_works_for_an_hour_at_most(deployment: Deployment, issuer: Issuer) -> None:
    access, clock = process(deployment, issuer), deployment.clock
    assert fault(access, issuer.token(clock.now())) is None
    issuer.keys = [listed("ES256")]
    assert fault(access, issuer.token(clock.now())) is None
    clock.sleep(FRESH_SECONDS)
    assert fault(access, issuer.token(clock.now())) == "token_key"


def test_known_keys_serve_for_a_day_while_the_issuer_is_down(deployment: Deployment, issuer: Issuer) -> None:
    access, clock = process(deployment, issuer), deployment.clock
    issuer.down = True
    for _ in range(5):
        with pytest.raises(IdentityProviderUnavailable):
            fault(access, issuer.token(clock.now()))
    assert len(issuer.asked) == 1
    issuer.down = False
    clock.sleep(AFTER_FAILURE)
    assert fault(access, issuer.token(clock.now())) is None
    issuer.down = True
    clock.sleep(FRESH_SECONDS)
    assert fault(access, issuer.token(clock.now())) is None
    with pytest.raises(IdentityProviderUnavailable):
        fault(access, issuer.token(clock.now(), kid="unknown"))
    clock.sleep(LONGEST_STALE - FRESH_SECONDS)
    with pytest.raises(IdentityProviderUnavailable):
        fault(access, issuer.token(clock.now()))


UNUSABLE: dict[str, dict[str, Any]] = {
    "a shared secret": {"kty": "oct", "k": encoded("secret"), "kid": "RS256-first", "alg": "HS256"},
    "for encryption": listed("RS256", use="enc"),
    "for another algorithm": listed("RS256", alg="RS512"),
    "too short": listed("RS256", "short", kid="RS256-first"),
    "no numbers": {"kty": "RSA", "kid": "RS256-first", "n": [], "e": None},
    "nonsense": {"kty": ["RSA"], "crv": {}},
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_only_public_keys_for_signatures_are_taken(deployment: Deployment, issuer: Issuer, name: str) -> None:
    issuer.keys = [UNUSABLE[name], "no key", *issuer.keys[1:]]
    access, now = process(deployment, issuer), deployment.clock.now()
    assert fault(access, issuer.token(now)) == "token_key"
    assert fault(access, issuer.token(now, "ES256")) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"description": {"issuer": "https://other.example", "jwks_uri": "https://other.example/keys"}},
        {"description": {"jwks_uri": "http://keys.example.com/keys"}},
        {"description": []},
        {"keys": "none"},
        {"keys": ["x" * 300_000]},
        {"redirects_to": "/elsewhere"},
    ],
    ids=json.dumps,
)
def test_an_issuer_that_answers_amiss_is_unavailable(deployment: Deployment, issuer: Issuer, changed: dict[str, Any]) -> None:
    for name, value in changed.items():
        if name == "description" and "jwks_uri" in value:
            value.setdefault("issuer", issuer.address)
        setattr(issuer, name, value)
    with pytest.raises(IdentityProviderUnavailable):
        fault(process(deployment, issuer), issuer.token(deployment.clock.now()))


def test_with_an_identity_provider_every_request_needs_a_key_or_a_token(deployment: Deployment, issuer: Issuer) -> None:
    access = process(deployment, issuer)
    assert fault(access, None) == "missing"
    assert fault(access, new_key(access).key) is None
    assert fault(access, issuer.token(deployment.clock.now())) is None


def test_without_an_identity_provider_a_token_is_refused_as_one(deployment: Deployment, issuer: Issuer) -> None:
    assert fault(deployment.process(), issuer.token(deployment.clock.now())) == "token_refused"


def test_a_tenant_is_listed_with_its_first_token(deployment: Deployment, issuer: Issuer) -> None:
    access = process(deployment, issuer)
    for _ in range(2):
        assert fault(access, issuer.token(deployment.clock.now(), tenant="by-token")) is None
    tenants = access._parts.stores.api_keys.tenants()
    assert tenants == ["by-token", "default"]


def test_a_token_within_the_leeway_is_accepted(deployment: Deployment, issuer: Issuer) -> None:
    now = deployment.clock.now()
    late, early = now - timedelta(seconds=LEEWAY_SECONDS - 1), now + timedelta(seconds=LEEWAY_SECONDS)
    token = issuer.token(now, exp=late.timestamp(), nbf=early.timestamp())
    assert len(token) < LONGEST_TOKEN
    assert fault(process(deployment, issuer), token) is None
