"""The folder of root certificates that a layer carries, in the form in which OpenSSL looks one up by the hash of its name.

OpenSSL 3 parses a list of 140 certificates for 30 ms of CPU time, at every cold start. Of a folder it reads the one file that it
needs (OpenSSL manual, "X509_LOOKUP_hash_dir").
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.utils import CryptographyDeprecationWarning

FOLDER = "certificates"
MOUNT = "/opt"
"""Where a layer is in a function's file system."""
_OBJECT_ID, _UTF8, _SEQUENCE, _SET = 0x06, 0x0C, 0x30, 0x31


def hash_certificates(layer: Path) -> None:
    """Write the certificates of the layer's `certifi` into its folder of certificates. Raises: FileNotFoundError if it has no
    certifi.
    """
    write_folder(layer / FOLDER, certificates_in(layer / "python" / "certifi" / "cacert.pem"))


def certificates_in(file: Path) -> list[x509.Certificate]:
    """The certificates of a list in PEM."""
    with warnings.catch_warnings():
        # One root's serial number is 0, which RFC 5280 forbids and OpenSSL accepts.
        warnings.filterwarnings("ignore", "Parsed a serial number", CryptographyDeprecationWarning)
        return x509.load_pem_x509_certificates(file.read_bytes())


def write_folder(folder: Path, certificates: list[x509.Certificate]) -> None:
    """Write each certificate as `<hash>.<n>`: certificates whose names have one hash are counted."""
    folder.mkdir()
    known: Counter[str] = Counter()
    for certificate in certificates:
        name = name_hash(certificate.subject)
        (folder / f"{name}.{known[name]}").write_bytes(certificate.public_bytes(Encoding.PEM))
        known[name] += 1


def certificate_variables(layer: Path) -> dict[str, str]:
    """The variable by which OpenSSL's users find the folder; none if the layer has no packages (it is not to be deployed)."""
    return {"SSL_CERT_DIR": f"{MOUNT}/{FOLDER}"} if (layer / FOLDER).is_dir() else {}


def name_hash(name: x509.Name) -> str:
    """OpenSSL's hash of a name (`X509_NAME_hash_ex`): the first four bytes of the SHA-1 of its canonical form, the last one
    first.
    """
    canonical = b"".join(_der(_SET, b"".join(sorted(map(_attribute, part)))) for part in name.rdns)
    return hashlib.sha1(canonical, usedforsecurity=False).digest()[3::-1].hex()


def _attribute(attribute: x509.NameAttribute[str | bytes]) -> bytes:
    """An attribute in canonical form: a text in UTF-8, in small ASCII letters, with single spaces between its words."""
    value = attribute.value
    if not isinstance(value, str):
        raise ValueError(f"the name has a value that is no text: {attribute.oid.dotted_string}")
    # OpenSSL folds ASCII alone: `str.lower` and `str.split` would change other letters and spaces too.
    words = value.encode().lower().split()
    return _der(_SEQUENCE, _der(_OBJECT_ID, bytes(_object_id(attribute.oid.dotted_string))) + _der(_UTF8, b" ".join(words)))


def _object_id(dotted: str) -> Iterator[int]:
    first, second, *others = map(int, dotted.split("."))
    for number in (40 * first + second, *others):
        for shift in range((max(number.bit_length(), 1) - 1) // 7 * 7, 0, -7):
            yield 0x80 | number >> shift & 0x7F
        yield number & 0x7F


def _der(tag: int, content: bytes) -> bytes:
    """A value of ASN.1 in DER."""
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    sized = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(sized))) + sized + content
