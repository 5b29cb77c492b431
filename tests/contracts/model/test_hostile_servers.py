"""Servers that answer without end, with web pages, with redirects, or behind a certificate that nobody knows: what users are
told, and what is read.
"""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.adapters.model.wire.http_stream import LONGEST_REPLY, LONGEST_STREAM, HttpAnswer
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection, ModelError, ModelNotFound, ModelOverloaded
from tests.contracts.model.spoken import KEY, Spoken
from tests.support.rows import Rows

MEGABYTE = b"x" * 1024 * 1024
PAGE: dict[str, Any] = {"body": b"<html><h1>nginx</h1></html>", "headers": {"content-type": "text/html"}}


class _Body:
    """A response whose body is made while it is read. `read` counts the bytes that were taken."""

    is_closed = False
    headers: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.read = 0

    def iter_bytes(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.read += len(piece)
            yield piece


def beyond(most: int, piece: bytes) -> Iterator[bytes]:
    """More bytes than `most`."""
    return repeat(piece, most // len(piece) + 3)


@pytest.mark.parametrize(
    ("piece", "most"),
    [
        (MEGABYTE, LONGEST_REPLY),
        (b"data: " + MEGABYTE + b"\n", LONGEST_REPLY),
        (b": " + MEGABYTE + b"\n\n", LONGEST_STREAM),
    ],
    ids=["a line", "an event", "a stream"],
)
def test_a_stream_without_end_is_left_within_its_limit(piece: bytes, most: int) -> None:
    body = _Body(beyond(most, piece))
    answer = HttpAnswer("mine", body, float("inf"), lambda: None)  # type: ignore[arg-type]
    with pytest.raises(InvalidModelResponse, match=f"^mine: the answer is longer than {most:,} bytes"):
        list(answer.events())
    assert body.read <= most + 2 * len(piece)


def test_a_body_without_end_is_left_within_its_limit() -> None:
    body = _Body(beyond(LONGEST_REPLY, MEGABYTE))
    answer = HttpAnswer("mine", body, float("inf"), lambda: None)  # type: ignore[arg-type]
    with pytest.raises(InvalidModelResponse, match=f"^mine: the answer is longer than {LONGEST_REPLY:,} bytes"):
        answer.body()
    assert body.read <= LONGEST_REPLY + len(MEGABYTE)


def test_a_long_line_is_read_in_linear_time() -> None:
    """Each byte of a line that arrives in many pieces is copied a few times, not once for each further piece."""
    pieces = [b"data: [1", *[b",1" * 8] * 200_000, b"]\n\n"]
    answer = HttpAnswer("mine", _Body(iter(pieces)), float("inf"), lambda: None)  # type: ignore[arg-type]
    with pytest.raises(InvalidModelResponse, match="not a JSON object"):
        list(answer.events())


@pytest.mark.parametrize(("status", "kind"), [(404, ModelNotFound), (502, ModelOverloaded), (503, ModelOverloaded)])
def test_a_web_page_instead_of_an_error_is_called_one(spoken: Spoken, status: int, kind: type[ModelError]) -> None:
    spoken.server.says(status=status, **PAGE)
    with pytest.raises(kind, match=rf"^{spoken.kind}: a web page instead of JSON; check the base URL .*\(status {status}\)"):
        spoken.model.complete(hello(spoken))


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("https://api.example.com/v1/chat?token=hidden", "https://api.example.com"),
        ("/hidden/login", "another path"),
        ("https://[hidden", "another address"),
    ],
)
def test_a_redirect_is_told_without_its_path(spoken: Spoken, location: str, told: str) -> None:
    spoken.server.says(status=302, body=b"", headers={"location": location})
    with pytest.raises(ModelError) as raised:
        spoken.model.complete(hello(spoken))
    assert f"the address redirects to {told}, which is not followed; correct the base URL" in raised.value.detail
    assert "hidden" not in raised.value.detail + str(raised.value.exchange)


def test_a_password_within_an_address_is_not_repeated(spoken: Spoken) -> None:
    spoken.server.says(status=500, body={"error": {"message": "no answer of postgres://app:planted-pw@db:5432/x today"}})
    with pytest.raises(ModelOverloaded, match=r"no answer of postgres://\*\*\*@db:5432/x today") as raised:
        spoken.model.complete(hello(spoken))
    assert "planted-pw" not in str(raised.value.exchange)


def test_nobody_at_an_address_is_told_with_what_to_check(spoken: Spoken) -> None:
    spoken.server.close()
    with pytest.raises(ModelConnection, match=r"\(nothing listens there\); check that the provider serves there, and the scheme"):
        spoken.model.complete(hello(spoken))


def test_an_unknown_host_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ModelConnection, match=r"no connection to http://modells\.example/v1 \(its host is not known\)"):
        asked_at("http://modells.example/v1")


def test_a_certificate_that_nobody_knows_is_told(self_signed: str) -> None:
    with pytest.raises(ModelConnection, match=r"\(its certificate is not trusted: self.signed certificate\)"):
        asked_at(self_signed)


def hello(spoken: Spoken) -> Any:
    return spoken.request(Rows().user("hi"))


def asked_at(url: str) -> None:
    """A question for the models at this address."""
    OpenAIModel(api_key=KEY, base_url=url, windows=ContextWindows()).check()


@pytest.fixture
def self_signed(tmp_path: Path) -> Iterator[str]:
    """The address of a server whose certificate is its own authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=greets, args=(listener, context), daemon=True)
        server.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/v1"
        server.join()


def greets(listener: socket.socket, context: ssl.SSLContext) -> None:
    connection, _ = listener.accept()
    with suppress(OSError), context.wrap_socket(connection, server_side=True):
        connection.recv(1)


def certificate(folder: Path) -> Path:
    """A file with a key and a certificate for it, which it signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "certificate.pem"
    file.write_bytes(private + made.sign(key, hashes.SHA256()).public_bytes(pem))
    return file
