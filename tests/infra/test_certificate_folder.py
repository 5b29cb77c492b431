"""OpenSSL finds every certificate of the list in the folder that a layer carries, and takes a server for nobody else."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import certifi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from infra.certificate_folder import FOLDER, certificate_variables, certificates_in, hash_certificates, write_folder

KEY = ec.generate_private_key(ec.SECP256R1())
LISTED = certificates_in(Path(certifi.where()))
UNUSED = dict.fromkeys(
    ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"), False
)
KEY_USAGE_OF_ROOT = x509.KeyUsage(digital_signature=False, key_cert_sign=True, crl_sign=True, **UNUSED)
KEY_USAGE_OF_SERVER = x509.KeyUsage(digital_signature=True, key_cert_sign=False, crl_sign=False, **UNUSED)
REQUEST = """
import sys
import httpx2
from hibernaut.adapters.certificates import certificates
with httpx2.Client(verify=certificates(), trust_env=False) as client:
    print(client.get(sys.argv[1]).status_code)
"""


def named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject: x509.Name, issuer: x509.Name, *, root: bool, key: ec.EllipticCurvePrivateKey = KEY) -> x509.Certificate:
    """A certificate of today for localhost, whose key signs it. It has what Python 3.13 demands by default (RFC 5280)."""
    now, own = datetime.now(UTC), key.public_key()
    built = x509.CertificateBuilder(issuer, subject, own, x509.random_serial_number(), now - timedelta(1), now + timedelta(1))
    built = built.add_extension(x509.BasicConstraints(root, None), critical=True)
    built = built.add_extension(KEY_USAGE_OF_ROOT if root else KEY_USAGE_OF_SERVER, critical=True)
    built = built.add_extension(x509.SubjectKeyIdentifier.from_public_key(own), critical=False)
    built = built.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(own), critical=False)
    return built.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False).sign(
        key, hashes.SHA256()
    )


def server_side(folder: Path, issuer: x509.Name) -> ssl.SSLContext:
    """The TLS of a server whose certificate the issuer has signed."""
    key = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = folder / "chain.pem"
    chain.write_bytes(certificate(named("a server"), issuer, root=False).public_bytes(Encoding.PEM) + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return context


def shakes_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> bool:
    """Whether the client takes the server's certificate. Raises: SSLError."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    answering = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(3):
        for side in (asking, answering):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return asking.version() is not None


def test_openssl_finds_a_certificate_by_every_name_of_the_list(tmp_path: Path) -> None:
    assert len(LISTED) > 100
    names = [each.subject for each in LISTED]
    write_folder(tmp_path / "roots", [certificate(name, name, root=True) for name in names])
    client = ssl.create_default_context(capath=tmp_path / "roots")
    for name in names:
        assert shakes_hands(client, server_side(tmp_path, name)), name.rfc4514_string()


@pytest.mark.parametrize(
    "text", ["Two  Spaces", " Ends ", "ÄÖÜ Straße", "x" * 60, "TAB\tand non-breaking\N{NO-BREAK SPACE}space"]
)
def test_openssl_finds_a_certificate_by_an_unusual_name(text: str, tmp_path: Path) -> None:
    write_folder(tmp_path / "roots", [certificate(named(text), named(text), root=True)])
    assert shakes_hands(ssl.create_default_context(capath=tmp_path / "roots"), server_side(tmp_path, named(text)))


def test_certificates_of_one_name_are_all_found(tmp_path: Path) -> None:
    name, other = named("Root"), ec.generate_private_key(ec.SECP256R1())
    write_folder(tmp_path / "roots", [certificate(name, name, root=True, key=key) for key in (other, KEY)])
    assert {file.suffix for file in (tmp_path / "roots").iterdir()} == {".0", ".1"}
    assert shakes_hands(ssl.create_default_context(capath=tmp_path / "roots"), server_side(tmp_path, name))


@contextmanager
def serving(context: ssl.SSLContext) -> Iterator[str]:
    """A server on loopback that answers 204 to each connection until the end; its address."""

    def serve(listening: socket.socket) -> None:
        while True:
            try:
                line, _ = listening.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(line, server_side=True) as secure:
                    secure.recv(4096)
                    secure.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            except OSError:
                continue

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        try:
            yield f"https://localhost:{listening.getsockname()[1]}/"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


Asks = Callable[[x509.Name], subprocess.CompletedProcess[str]]


@pytest.fixture
def asks(tmp_path: Path) -> Asks:
    """Asks a server with our clients' TLS, as a function does whose layer has one root, by the variable that the stack sets."""
    (tmp_path / "layer" / "python" / "certifi").mkdir(parents=True)
    listed = certificate(named("Our Root"), named("Our Root"), root=True).public_bytes(Encoding.PEM)
    (tmp_path / "layer" / "python" / "certifi" / "cacert.pem").write_bytes(listed)
    hash_certificates(tmp_path / "layer")
    environment = {"PATH": "/usr/bin", "PYTHONPATH": "shared", "SSL_CERT_DIR": str(tmp_path / "layer" / FOLDER)}

    def ask(issuer: x509.Name) -> subprocess.CompletedProcess[str]:
        with serving(server_side(tmp_path, issuer)) as url:
            return subprocess.run(
                [sys.executable, "-c", REQUEST, url], env=environment, capture_output=True, text=True, check=False
            )

    return ask


def test_a_client_of_a_provider_takes_a_server_whose_root_the_folder_has(asks: Asks) -> None:
    done = asks(named("Our Root"))
    assert done.stdout == "204\n", done.stderr


def test_a_client_of_a_provider_refuses_a_server_whose_root_the_folder_lacks(asks: Asks) -> None:
    done = asks(named("Another Root"))
    assert done.returncode != 0
    assert "CERTIFICATE_VERIFY_FAILED" in done.stderr


def test_the_variable_is_set_where_the_layer_has_the_folder(tmp_path: Path) -> None:
    assert certificate_variables(tmp_path) == {}
    (tmp_path / FOLDER).mkdir()
    assert certificate_variables(tmp_path) == {"SSL_CERT_DIR": "/opt/certificates"}
