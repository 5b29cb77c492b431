"""OAuth for clients of MCP servers: where metadata is looked for, what of it is believed, and what is sent."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.tools.mcp import oauth
from hibernaut.domain.tools.mcp.oauth import AuthorizationServer, OAuthClient, OAuthFault

URL = "https://mcp.example/v1/mcp"
ISSUER = "https://login.example/tenant"
SERVER: dict[str, Any] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "code_challenge_methods_supported": ["plain", "S256"],
}


def test_the_challenge_says_where_the_metadata_are_or_they_are_at_the_well_known_places() -> None:
    header = 'Bearer realm="x, y", resource_metadata="https://mcp.example/meta", scope="a b", error=invalid_token'
    assert oauth.challenged(header) == {
        "realm": "x, y",
        "resource_metadata": "https://mcp.example/meta",
        "scope": "a b",
        "error": "invalid_token",
    }
    assert oauth.resource_addresses(URL, header) == ["https://mcp.example/meta"]
    root = "https://mcp.example/.well-known/oauth-protected-resource"
    assert oauth.resource_addresses(URL, "Bearer") == [f"{root}/v1/mcp", root]
    for place in ("http://mcp.example/meta", "ftp://x", "//x", "https://", "https://a/#b"):
        with pytest.raises(OAuthFault):
            oauth.resource_addresses(URL, f'Bearer resource_metadata="{place}"')


@pytest.mark.parametrize("resource", [URL, "https://mcp.example/v1/", "https://mcp.example", "HTTPS://MCP.example/v1/mcp"])
def test_a_resource_is_the_server_or_stands_above_it(resource: str) -> None:
    found = oauth.resource_in({"resource": resource, "authorization_servers": [ISSUER, 1], "scopes_supported": ["a"]}, URL)
    assert (found.servers, found.scopes) == ((ISSUER,), ("a",))


@pytest.mark.parametrize(
    "resource",
    [
        "https://evil.example/v1/mcp",
        "https://mcp.example/v1/mcp/below",
        "https://mcp.example/v1/m",
        "http://mcp.example",
        f"{URL}?a=b",
        "",
        1,
    ],
)
def test_metadata_of_another_resource_are_refused(resource: Any) -> None:
    with pytest.raises(OAuthFault):
        oauth.resource_in({"resource": resource, "authorization_servers": [ISSUER]}, URL)


def test_an_authorization_server_is_looked_for_at_three_places() -> None:
    assert oauth.server_addresses(ISSUER) == [
        "https://login.example/.well-known/oauth-authorization-server/tenant",
        "https://login.example/.well-known/openid-configuration/tenant",
        "https://login.example/tenant/.well-known/openid-configuration",
    ]
    assert len(oauth.server_addresses("https://login.example")) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"code_challenge_methods_supported": ["plain"]},
        {"code_challenge_methods_supported": None},
        {"token_endpoint": "http://login.example/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"registration_endpoint": "http://169.254.169.254/"},
    ],
)
def test_what_an_authorization_server_may_not_say(wrong: dict[str, Any]) -> None:
    assert oauth.server_in(SERVER, ISSUER).registration_endpoint is None
    with pytest.raises(OAuthFault):
        oauth.server_in(SERVER | wrong, ISSUER)


def test_the_address_that_a_user_opens_has_what_the_standards_ask_for() -> None:
    server = AuthorizationServer(ISSUER, f"{ISSUER}/authorize?tenant=1", f"{ISSUER}/token")
    address = oauth.authorization_address(
        server, OAuthClient("me"), callback="https://us.example/cb", state="s", verifier="v" * 43, resource=URL, scopes=("a", "b")
    )
    query = {name: value for name, (value,) in parse_qs(urlsplit(address).query).items()}
    assert query == {
        "tenant": "1",
        "response_type": "code",
        "client_id": "me",
        "redirect_uri": "https://us.example/cb",
        "state": "s",
        "code_challenge": oauth.challenge_of("v" * 43),
        "code_challenge_method": "S256",
        "resource": URL,
        "scope": "a b",
    }


def test_a_challenge_is_that_of_the_standard() -> None:
    """The example of RFC 7636, appendix B."""
    assert oauth.challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_a_client_authenticates_as_it_was_registered() -> None:
    assert oauth.client_in({"client_id": "a"}).method == "none"
    assert oauth.client_in({"client_id": "a", "client_secret": "b"}).method == "client_secret_basic"
    post = oauth.client_in({"client_id": "a", "client_secret": "b", "token_endpoint_auth_method": "client_secret_post"})
    assert (post.method, post.secret) == ("client_secret_post", "b")
    for wrong in ({}, {"client_id": ""}, {"client_id": "a", "token_endpoint_auth_method": "private_key_jwt"}, [], "x"):
        with pytest.raises(OAuthFault):
            oauth.client_in(wrong)
    with pytest.raises(OAuthFault):
        oauth.client_in({"client_id": "a", "token_endpoint_auth_method": "client_secret_post"})


def test_tokens_are_bearer_tokens_that_can_be_sent() -> None:
    right = {"access_token": "a", "token_type": "bearer", "refresh_token": "r", "expires_in": 10, "scope": "s"}
    found = oauth.tokens_in(right)
    assert (found.access, found.refresh, found.seconds, found.scope) == ("a", "r", 10, "s")
    assert "'a'" not in repr(found)
    for wrong in (
        {"access_token": "a\r\nb"},
        {"access_token": ""},
        {"access_token": 1},
        {"token_type": "mac"},
        {"token_type": None},
    ):
        with pytest.raises(OAuthFault):
            oauth.tokens_in(right | wrong)
    for life in (None, "10", -1, True, 0):
        assert oauth.tokens_in(right | {"expires_in": life}).seconds == oauth.USUAL_LIFE
    assert oauth.tokens_in(right | {"expires_in": 10**12}).seconds == oauth.MOST_LIFE


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from([URL, ISSUER, "bearer", "http://["]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*SERVER, "resource", "access_token", "token_type", "expires_in", "client_id"]), inner, max_size=5),
    max_leaves=8,
)  # fmt: skip


@given(answer=JSONS, status=st.integers(100, 599))
def test_whatever_a_server_answers_is_understood_or_a_fault(answer: Any, status: int) -> None:
    for read in (
        lambda: oauth.resource_in(answer, URL),
        lambda: oauth.server_in(answer, ISSUER),
        lambda: oauth.client_in(answer),
        lambda: oauth.tokens_in(answer),
    ):
        try:
            told = str(read())
        except OAuthFault as fault:
            told = str(fault)
        assert len(told) < 10_000
    assert len(oauth.error_in(answer, status)) < 1000


@given(header=st.text(max_size=60))
def test_whatever_a_server_demands_is_read(header: str) -> None:
    oauth.challenged(header)
