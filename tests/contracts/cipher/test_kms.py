"""KMS behind the `Cipher` port: how often it is asked, what it is told, and what its refusals become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from hibernaut.adapters.cipher.kms import CACHE_SECONDS, MOST_KEYS, KmsCipher
from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.schemas.errors import MasterKeyUnavailable, NotImplementedHere
from tests.support.clocks import ManualClock

PLACE = {"tenant": "default", "id": "provider-1"}
KEY = "arn:aws:kms:eu-central-1:123456789012:key/1"


class CountedKms:
    """Hands out data keys, opens none for another context, and counts what it is asked. `failure` is raised in place of an
    answer.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, object]]] = []
        self.failure: Exception | None = None
        self._made: dict[bytes, tuple[bytes, object]] = {}

    def generate_data_key(self, **parameters: object) -> Mapping[str, Any]:
        self._note("generate_data_key", parameters)
        key, blob = bytes([len(self._made) % 256]) * 32, b"wrapped-%d" % len(self._made)
        self._made[blob] = (key, parameters["EncryptionContext"])
        return {"Plaintext": key, "CiphertextBlob": blob, "KeyId": KEY}

    def decrypt(self, **parameters: object) -> Mapping[str, Any]:
        self._note("decrypt", parameters)
        blob = parameters["CiphertextBlob"]
        assert isinstance(blob, bytes)
        key, context = self._made.get(blob, (b"", None))
        if context != parameters["EncryptionContext"]:
            raise refused("InvalidCiphertextException")
        return {"Plaintext": key, "KeyId": KEY}

    def _note(self, action: str, parameters: Mapping[str, object]) -> None:
        self.asked.append((action, parameters))
        if self.failure is not None:
            raise self.failure

    def count(self, action: str) -> int:
        return sum(asked == action for asked, _ in self.asked)


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "Decrypt")


def cipher_of(kms: CountedKms, clock: ManualClock | None = None) -> KmsCipher:
    return KmsCipher(KEY, deployment="dev", clock=clock or ManualClock(), client=kms)


def test_kms_learns_the_place_and_the_deployment_and_never_the_value() -> None:
    kms = CountedKms()
    cipher_of(kms).unseal(cipher_of(kms).seal(b"sk-planted", PLACE), PLACE)
    assert {asked["KeyId"] for _, asked in kms.asked} == {KEY}
    assert [asked["EncryptionContext"] for _, asked in kms.asked] == [{**PLACE, "hibernaut": "dev"}] * 2
    assert "sk-planted" not in str(kms.asked)


def test_a_data_key_is_fetched_once_in_its_time() -> None:
    kms, clock = CountedKms(), ManualClock()
    cipher = cipher_of(kms, clock)
    sealed = cipher.seal(b"sk-1", PLACE)
    for _ in range(5):
        cipher.unseal(sealed, PLACE)
    assert kms.count("decrypt") == 1
    clock.sleep(CACHE_SECONDS)
    cipher.unseal(sealed, PLACE)
    assert kms.count("decrypt") == 2


def test_a_bounded_number_of_data_keys_is_kept() -> None:
    kms = CountedKms()
    cipher = cipher_of(kms)
    seals = [cipher.seal(b"sk-1", PLACE) for _ in range(MOST_KEYS + 1)]
    for sealed in seals:
        cipher.unseal(sealed, PLACE)
    assert len(cipher._cache) == MOST_KEYS
    cipher.unseal(seals[-1], PLACE)
    assert kms.count("decrypt") == MOST_KEYS + 1
    cipher.unseal(seals[0], PLACE)
    assert kms.count("decrypt") == MOST_KEYS + 2


@pytest.mark.parametrize("code", ["InvalidCiphertextException", "IncorrectKeyException"])
def test_what_kms_cannot_open_is_a_broken_seal(code: str) -> None:
    kms = CountedKms()
    sealed = cipher_of(kms).seal(b"sk-1", PLACE)
    kms.failure = refused(code)
    with pytest.raises(SealBroken, match=code):
        cipher_of(kms).unseal(sealed, PLACE)


@pytest.mark.parametrize(
    ("failure", "named"),
    [
        (refused("ThrottlingException"), "ThrottlingException"),
        (refused("AccessDeniedException"), "AccessDeniedException"),
        (refused("DisabledException"), "DisabledException"),
        (refused("KMSInvalidStateException"), "KMSInvalidStateException"),
        (EndpointConnectionError(endpoint_url="https://kms.invalid"), "EndpointConnectionError"),
    ],
)
def test_a_key_that_cannot_be_used_is_said_and_worth_another_try(failure: Exception, named: str) -> None:
    kms = CountedKms()
    sealed = cipher_of(kms).seal(b"sk-1", PLACE)
    kms.failure = failure
    with pytest.raises(MasterKeyUnavailable, match=named) as raised:
        cipher_of(kms).unseal(sealed, PLACE)
    assert raised.value.retry_after > 0
    with pytest.raises(MasterKeyUnavailable):
        cipher_of(kms).seal(b"sk-2", PLACE)


def test_a_function_without_a_key_says_so() -> None:
    cipher = KmsCipher("", deployment="dev", clock=ManualClock())
    with pytest.raises(NotImplementedHere, match="HIBERNAUT_SECRETS_KEY"):
        cipher.seal(b"sk-1", PLACE)
