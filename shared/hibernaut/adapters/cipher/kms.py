"""The `Cipher` port on KMS: a data key for each value, wrapped by a key that never leaves KMS.

KMS binds each data key to the encryption context and records it in CloudTrail. Knows KMS's API.
Must not know what the values are for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.adapters.cipher.envelope import Envelope, context_bytes
from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.schemas.errors import MasterKeyUnavailable, NotImplementedHere

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError

DEPLOYMENT = "hibernaut"
"""The name in the encryption context that holds the deployment's environment. The functions' roles permit this environment
only.
"""
MOST_KEYS = 256
CACHE_SECONDS = 300.0
"""The time to live of decrypted data keys in memory. A key that is disabled in KMS opens values for at most this long."""
ATTEMPTS, TIMEOUT_S = 3, 5.0
RETRY_AFTER = 2.0
BROKEN = frozenset({"InvalidCiphertextException", "IncorrectKeyException"})
"""KMS API Reference, Decrypt: damaged bytes or another context, and another key than `KeyId`."""


class KmsClient(Protocol):
    """The used part of boto3's `kms` client."""

    def generate_data_key(self, **parameters: object) -> Mapping[str, Any]: ...
    def decrypt(self, **parameters: object) -> Mapping[str, Any]: ...


class KmsCipher:
    """Encryption under one KMS key, for one deployment. Thread-safe.

    `key`: an ARN; if it is empty, this function has no key and both methods raise NotImplementedHere. At most MOST_KEYS decrypted
    data keys stay in memory, each for CACHE_SECONDS.
    """

    def __init__(self, key: str, *, deployment: str, clock: Clock, client: KmsClient | None = None) -> None:
        self._key = key
        self._deployment = deployment
        self._clock = clock
        self._kms = client
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[bytes, bytes], tuple[float, bytes]] = OrderedDict()

    def seal(self, plain: bytes, context: Mapping[str, str]) -> bytes:
        """The encrypted value. Raises: MasterKeyUnavailable, NotImplementedHere."""
        answer = self._ask("generate_data_key", context, KeySpec="AES_256")
        wrapped = bytes(answer["CiphertextBlob"])
        return bytes(Envelope.sealed(plain, data_key=answer["Plaintext"], wrapped_key=wrapped, context=context))

    def unseal(self, sealed: bytes, context: Mapping[str, str]) -> bytes:
        """The decrypted value. Raises: SealBroken, MasterKeyUnavailable, NotImplementedHere."""
        envelope = Envelope.parsed(sealed)
        return envelope.opened(self._data_key(envelope.wrapped_key, context), context)

    def _data_key(self, wrapped: bytes, context: Mapping[str, str]) -> bytes:
        place, now = (wrapped, context_bytes(context)), self._clock.monotonic()
        with self._lock:
            entry = self._cache.get(place)
        if entry is not None and now - entry[0] < CACHE_SECONDS:
            return entry[1]
        key = bytes(self._ask("decrypt", context, CiphertextBlob=wrapped)["Plaintext"])
        with self._lock:
            self._cache[place] = (now, key)
            while len(self._cache) > MOST_KEYS:
                self._cache.popitem(last=False)
        return key

    def _ask(self, action: str, context: Mapping[str, str], **parameters: object) -> Mapping[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        if not self._key:
            raise NotImplementedHere("This function has no key for secrets: HIBERNAUT_SECRETS_KEY is not set.")
        bound = {**context, DEPLOYMENT: self._deployment}
        try:
            return cast(
                "Mapping[str, Any]", getattr(self._client(), action)(KeyId=self._key, EncryptionContext=bound, **parameters)
            )
        except (BotoCoreError, ClientError) as error:
            raise _failed(error) from error

    def _client(self) -> KmsClient:
        with self._lock:
            if self._kms is None:
                from botocore.config import Config

                config = Config(
                    retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
                    connect_timeout=TIMEOUT_S,
                    read_timeout=TIMEOUT_S,
                )
                self._kms = cast("KmsClient", aws_client("kms", config))
            return self._kms


def _failed(error: BotoCoreError | ClientError) -> SealBroken | MasterKeyUnavailable:
    answer = getattr(error, "response", None)
    code = str(answer["Error"].get("Code", "")) if isinstance(answer, dict) else type(error).__name__
    if code in BROKEN:
        return SealBroken(f"KMS cannot open the value: {code}")
    return MasterKeyUnavailable(f"The KMS key that protects stored secrets cannot be used now: {code}.", RETRY_AFTER)
