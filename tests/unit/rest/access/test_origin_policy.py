"""Who may call: the table of hosts and origins, as browsers and other clients send them."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Scope

from hibernaut.rest.access.origin_policy import LOOPBACK, OriginPolicy
from hibernaut.schemas.errors import ForeignHost, ForeignOrigin

HOME = OriginPolicy()
CLOUD = OriginPolicy(("api.example.com", "proxy.example.com:8443"), ("https://app.example.com", "http://localhost:3000"))
OWN, APP, EVIL = "http://localhost:8283", "https://app.example.com", "http://evil.test"


def scope(method: str = "GET", scheme: str = "http", **headers: str | list[str]) -> Scope:
    """A request to port 8283."""
    raw = [
        (name.replace("_", "-").encode(), value.encode())
        for name, values in ({"host": "localhost:8283"} | headers).items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    return {"type": "http", "method": method, "path": "/", "scheme": scheme, "headers": raw, "server": ("127.0.0.1", 8283)}


def refused(policy: OriginPolicy, asked: Scope) -> type[Exception] | None:
    try:
        policy.check(asked)
    except (ForeignHost, ForeignOrigin) as error:
        return type(error)
    return None


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "DELETE"])
@pytest.mark.parametrize(
    ("policy", "host", "answers"),
    [
        (HOME, "127.0.0.1:8283", True),
        (HOME, "localhost:8283", True),
        (HOME, "LocalHost:8283", True),
        (HOME, "[::1]:8283", True),
        (HOME, "localhost", False),
        (HOME, "localhost:8284", False),
        (HOME, "localhost:", False),
        (HOME, "localhost:8283x", False),
        (HOME, "localhost:99999999999999999999", False),
        (HOME, "localhost.:8283", False),
        (HOME, "evil.test", False),
        (HOME, "evil.test:8283", False),
        (HOME, "localhost.evil.test:8283", False),
        (HOME, "127.0.0.1.evil.test:8283", False),
        (HOME, "0.0.0.0:8283", False),
        (HOME, "192.168.0.7:8283", False),
        (HOME, "[::]:8283", False),
        (HOME, "localhost:8283, evil.test", False),
        (HOME, "evil.test@localhost:8283", False),
        (HOME, "", False),
        (CLOUD, "api.example.com", True),
        (CLOUD, "API.example.com:443", True),
        (CLOUD, "api.example.com:1", True),
        (CLOUD, "proxy.example.com:8443", True),
        (CLOUD, "proxy.example.com", False),
        (CLOUD, "www.api.example.com", False),
        (CLOUD, "example.com", False),
    ],
)
def test_the_host_is_one_of_the_server_s_names_whatever_the_method(
    policy: OriginPolicy, host: str, answers: bool, method: str
) -> None:
    assert refused(policy, scope(method, host=host)) is (None if answers else ForeignHost)


@pytest.mark.parametrize("hosts", [[], ["localhost:8283", "evil.test"], ["localhost:8283", "localhost:8283"]])
def test_a_request_names_one_host(hosts: list[str]) -> None:
    assert refused(HOME, scope(host=hosts)) is ForeignHost


def test_the_usual_port_need_not_be_named() -> None:
    asked = scope(host="localhost") | {"server": ("127.0.0.1", 80)}
    assert refused(HOME, asked) is None


@pytest.mark.parametrize(
    ("policy", "headers", "may"),
    [
        (HOME, {}, True),
        (HOME, {"origin": OWN}, True),
        (HOME, {"origin": OWN, "sec_fetch_site": "same-origin"}, True),
        (HOME, {"origin": "https://localhost:8283", "sec_fetch_site": "same-origin"}, True),
        (HOME, {"sec_fetch_site": "same-origin"}, True),
        (HOME, {"sec_fetch_site": "none"}, True),
        (HOME, {"sec_fetch_site": "same-site"}, False),
        (HOME, {"sec_fetch_site": "cross-site"}, False),
        (HOME, {"sec_fetch_site": ""}, False),
        (HOME, {"sec_fetch_site": ["same-origin", "cross-site"]}, False),
        (HOME, {"origin": OWN, "sec_fetch_site": "cross-site"}, False),
        (HOME, {"origin": "null"}, False),
        (HOME, {"origin": ""}, False),
        (HOME, {"origin": EVIL}, False),
        (HOME, {"origin": EVIL, "sec_fetch_site": "same-origin"}, False),
        (HOME, {"origin": [OWN, EVIL]}, False),
        (HOME, {"origin": "http://localhost:3000", "sec_fetch_site": "same-site"}, False),
        (HOME, {"origin": "http://127.0.0.1:8283", "sec_fetch_site": "cross-site"}, False),
        (HOME, {"origin": "https://app.letta.com", "sec_fetch_site": "cross-site"}, False),
        (CLOUD, {"origin": APP, "sec_fetch_site": "cross-site"}, True),
        (CLOUD, {"origin": "http://localhost:3000", "sec_fetch_site": "same-site"}, True),
        (CLOUD, {"origin": APP + ".evil.test", "sec_fetch_site": "cross-site"}, False),
        (CLOUD, {"origin": "http://app.example.com", "sec_fetch_site": "cross-site"}, False),
        (CLOUD, {"origin": [APP, EVIL], "sec_fetch_site": "cross-site"}, False),
    ],
)
def test_a_foreign_page_may_read_nothing_into_effect(policy: OriginPolicy, headers: dict[str, str], may: bool) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE", "ANYTHING"):
        assert refused(policy, scope(method, **headers)) is (None if may else ForeignOrigin)
    for method in ("GET", "HEAD", "OPTIONS"):
        assert refused(policy, scope(method, **headers)) is None
        with nullcontext() if may else pytest.raises(ForeignOrigin):
            policy.check_change(scope(method, **headers))


@given(
    host=st.text(st.characters(codec="latin-1"), max_size=40)
    | st.sampled_from(sorted(LOOPBACK)).map(lambda name: f"{name}:8283"),
    origin=st.none() | st.text(st.characters(codec="latin-1"), max_size=40) | st.sampled_from([OWN, APP, EVIL]),
    site=st.none() | st.sampled_from(["same-origin", "same-site", "cross-site", "none"]),
)
def test_whatever_a_browser_sends_only_the_server_s_own_pages_change_anything(
    host: str, origin: str | None, site: str | None
) -> None:
    headers = {"host": host, "origin": origin, "sec_fetch_site": site}
    raw = [(name.replace("_", "-").encode(), text.encode("latin-1")) for name, text in headers.items() if text is not None]
    if refused(HOME, scope("POST") | {"headers": raw}) is None:
        assert host.lower() in {f"{name}:8283" for name in LOOPBACK}
        assert origin is None or origin.lower().partition("://")[2] == host.lower()
        assert site in (None, "same-origin", "none")


def test_a_refusal_says_what_would_allow_it_and_quotes_little() -> None:
    with pytest.raises(ForeignHost, match="HIBERNAUT_ALLOWED_HOSTS") as host:
        HOME.check(scope(host="x" * 5000))
    with pytest.raises(ForeignOrigin, match="HIBERNAUT_CORS_ORIGINS") as origin:
        HOME.check(scope("POST", origin="x" * 5000))
    assert max(len(host.value.detail), len(origin.value.detail)) < 400
