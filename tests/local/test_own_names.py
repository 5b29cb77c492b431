"""The name by which a client reaches the local server, as its requests write it."""

from __future__ import annotations

import pytest

from hibernaut.local.server import listening, own_host
from hibernaut.rest.access.origin_policy import OriginPolicy


@pytest.mark.parametrize(
    ("host", "written"),
    [
        ("2001:DB8::1", "[2001:db8::1]"),
        ("2001:0db8:0:0::0001", "[2001:db8::1]"),
        ("FE80::1%eth0", "[fe80::1%eth0]"),
        ("Studio.Local", "studio.local"),
        ("192.0.2.7", "192.0.2.7"),
    ],
)
def test_the_server_answers_to_its_own_address_however_it_was_given(host: str, written: str) -> None:
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        own = own_host(host, listener)
    assert own == f"{written}:{port}"
    scope = {"type": "http", "method": "GET", "scheme": "http", "headers": [(b"host", f"{written}:{port}".encode())]}
    OriginPolicy((own,)).check(scope)
