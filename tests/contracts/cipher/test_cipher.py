"""The port `Cipher`, on a key file and on KMS (moto)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.adapters.cipher.kms import KmsCipher
from hibernaut.ports.storage.cipher import Cipher, SealBroken
from hibernaut.schemas.errors import MasterKeyUnavailable
from tests.support.clocks import ManualClock

PLACE = {"tenant": "default", "purpose": "provider", "id": "provider-1"}
SECRET = b"sk-planted-0123456789"
SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=30)
contexts = st.dictionaries(
    st.text("abcdefghij", min_size=1, max_size=8), st.text("xyz-ü", min_size=1, max_size=12), min_size=1, max_size=3
)


@pytest.fixture(params=["key file", "KMS"])
def cipher(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cipher]:
    if request.param == "key file":
        yield KeyFileCipher(tmp_path / "secrets.key")
        return
    import boto3
    from moto import mock_aws

    with mock_aws():
        client = boto3.client("kms")
        key = client.create_key()["KeyMetadata"]["Arn"]
        yield KmsCipher(key, deployment="dev", clock=ManualClock(), client=client)


@SHARED
@given(plain=st.binary(max_size=20_000), context=contexts)
def test_what_was_sealed_opens_in_its_place(cipher: Cipher, plain: bytes, context: Mapping[str, str]) -> None:
    assert cipher.unseal(cipher.seal(plain, context), dict(reversed(context.items()))) == plain


@SHARED
@given(sealed_for=contexts, opened_for=contexts)
def test_it_opens_in_no_other_place(cipher: Cipher, sealed_for: Mapping[str, str], opened_for: Mapping[str, str]) -> None:
    sealed = cipher.seal(SECRET, sealed_for)
    if sealed_for != opened_for:
        with pytest.raises(SealBroken):
            cipher.unseal(sealed, opened_for)


def test_another_place_is_refused_after_the_value_was_opened_in_its_own(cipher: Cipher) -> None:
    sealed = cipher.seal(SECRET, PLACE)
    assert cipher.unseal(sealed, PLACE) == SECRET
    with pytest.raises(SealBroken):
        cipher.unseal(sealed, {**PLACE, "tenant": "other"})


@pytest.mark.parametrize("opened_before", [True, False])
def test_no_byte_can_be_changed_removed_or_added(cipher: Cipher, opened_before: bool) -> None:
    sealed = cipher.seal(SECRET, PLACE)
    if opened_before:
        cipher.unseal(sealed, PLACE)
    # moto looks the key's id up, which begins its ciphertext, and denies access where KMS answers InvalidCiphertextException.
    for at in range(len(sealed)):
        with pytest.raises((SealBroken, MasterKeyUnavailable)):
            cipher.unseal(sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :], PLACE)
    for damaged in (b"", sealed[:3], sealed[:-1], sealed + b"\0", sealed[1:]):
        with pytest.raises(SealBroken):
            cipher.unseal(damaged, PLACE)


def test_no_two_seals_are_alike_and_none_shows_its_value(cipher: Cipher) -> None:
    seals = [cipher.seal(SECRET, PLACE) for _ in range(20)]
    assert len(set(seals)) == 20
    assert not any(SECRET in sealed for sealed in seals)


def test_a_key_does_not_show_when_its_cipher_is_printed(cipher: Cipher) -> None:
    cipher.unseal(cipher.seal(SECRET, PLACE), PLACE)
    assert SECRET.decode() not in repr(cipher)
