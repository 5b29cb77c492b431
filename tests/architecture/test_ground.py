"""The ground that tests/conftest.py promises is really there."""

from __future__ import annotations

import os
import socket

import httpx
import httpx2
import pytest

# TEST-NET-1 (RFC 5737): routed nowhere, so that even a broken guard reaches nobody.
NOWHERE = ("192.0.2.1", 9)


def test_a_connection_out_of_the_machine_is_refused() -> None:
    with socket.socket() as sock:
        sock.settimeout(0.1)
        with pytest.raises(OSError, match="loopback only"):
            sock.connect(NOWHERE)
        with pytest.raises(OSError, match="loopback only"):
            sock.connect_ex(NOWHERE)


def test_a_name_out_of_the_machine_is_not_looked_up() -> None:
    with pytest.raises(OSError, match="loopback only"):
        socket.create_connection(("host.invalid", 443), timeout=0.1)


def test_loopback_stays_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


def test_no_account_and_no_provider_is_known() -> None:
    assert [name for name in os.environ if name.endswith("_API_KEY")] == []
    assert os.environ["AWS_ACCESS_KEY_ID"] == "testing"


def test_no_list_of_certificate_authorities_is_read() -> None:
    assert httpx.create_ssl_context().get_ca_certs() == httpx2.create_ssl_context().get_ca_certs() == []
