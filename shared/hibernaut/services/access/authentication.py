"""Authentication: from the API key, or the identity provider's token, of a request to its principal.

A key is looked up by one read and then remembered for `FRESH_SECONDS`, as is the answer that a key does not exist. A key that
another process revokes therefore stops working within that time; one that this process revokes, at once.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from datetime import timedelta

from hibernaut.domain.api_keys import is_well_formed
from hibernaut.domain.identity_tokens import looks_like_token
from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import ConditionFailed, TableError
from hibernaut.schemas.access.api_key import Principal, StoredApiKey
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.errors import StoreUnavailable, Unauthenticated
from hibernaut.schemas.ids import DEFAULT_TENANT
from hibernaut.schemas.immutable import immutable
from hibernaut.services.access.identity import TokenPrincipals
from hibernaut.services.access.pepper import Pepper
from hibernaut.services.access.signed_tool_tokens import PREFIX as SIGNED
from hibernaut.services.access.signed_tool_tokens import SignedToolTokens
from hibernaut.services.access.tool_tokens import ToolTokens
from hibernaut.store.stores import Stores

FRESH_SECONDS = 5.0
"""Seconds for which the answer of the table is used again."""
MOST_REMEMBERED = 4096
"""The largest number of remembered answers; the oldest is forgotten."""
USE_EVERY = timedelta(minutes=1)
"""The shortest time between two writes of a key's last use."""
KEYLESS = Principal(DEFAULT_TENANT, Scope.WRITE)
"""Every caller of a server without keys. It manages no keys."""
logger = logging.getLogger(__name__)


@immutable
class _Answer:
    key: StoredApiKey | None
    at: float


class Authentication:
    """Authenticates requests by API keys, and by tokens if the deployment has an identity provider. Thread-safe.

    `required`: a request needs a key even if no key was ever created. Otherwise a deployment with neither keys nor an identity
    provider serves everybody as the default tenant. `tokens` None: there is no identity provider. `tools`: the tokens of running
    tools (None: there are none).
    """

    def __init__(
        self,
        stores: Stores,
        pepper: Pepper,
        clock: Clock,
        *,
        required: bool,
        tokens: TokenPrincipals | None = None,
        tools: ToolTokens | SignedToolTokens | None = None,
    ) -> None:
        self._stores = stores
        self._pepper = pepper
        self._clock = clock
        self._required = required or tokens is not None
        self._tokens = tokens
        self.tools = tools
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        self._no_keys_at: float | None = None
        self._last_used_at: OrderedDict[str, float] = OrderedDict()

    def remembered(self, presented: str | None) -> Principal | None:
        """The principal, if it follows from memory alone; None: call `authenticate`. Raises: Unauthenticated."""
        if self.tools is not None and (tool := self.tools.principal(presented)) is not None:
            return tool
        if self._tokens is not None and looks_like_token(presented or ""):
            return None
        if (presented or "").startswith(SIGNED):
            return None
        keyless = self._no_keys_at is not None and self._clock.monotonic() - self._no_keys_at < FRESH_SECONDS
        # A well-formed key is looked up all the same, so that the first key of a deployment works at once.
        if keyless and not is_well_formed(presented or ""):
            return self._without_keys(presented)
        if not self._pepper.loaded:
            return None
        answer = self._answer(self._digest(presented))
        return self._principal(answer.key) if answer is not None else None

    def authenticate(self, presented: str | None) -> Principal:
        """The principal of a request with this key or token.

        Raises: Unauthenticated; StoreUnavailable, and the errors of the cipher; ScopeTooNarrow and IdentityProviderUnavailable
        for a token.
        """
        if self._tokens is not None and presented is not None and looks_like_token(presented):
            return self._tokens.of(presented)
        if self.tools is not None and (tool := self.tools.looked_up(presented)) is not None:
            return tool
        if not self._pepper.exists():
            self._no_keys_at = self._clock.monotonic()
            return self._without_keys(presented)
        self._no_keys_at = None
        return self._looked_up(self._digest(presented))

    def again(self, digest: str) -> Principal:
        """The principal of a connection that was authenticated before: its key may have been revoked meanwhile. `digest`: that of
        its principal, empty if it had no key. Raises: as `authenticate`.
        """
        return self._looked_up(digest) if digest else self.authenticate(None)

    def _looked_up(self, digest: str) -> Principal:
        answer = self._answer(digest)
        if answer is None:
            answer = _Answer(self._stores.api_keys.by_digest(digest), self._clock.monotonic())
            self._remember(digest, answer)
        return self._principal(answer.key)

    def forget(self, digest: str) -> None:
        """Drop a key from the cache, because this process has changed it."""
        with self._lock:
            self._answers.pop(digest, None)

    def use_is_due(self, principal: Principal) -> bool:
        """Whether `note_use` would write."""
        last = self._last_used_at.get(principal.digest)
        return bool(principal.digest) and (last is None or self._clock.monotonic() - last >= USE_EVERY.total_seconds())

    def note_use(self, principal: Principal) -> None:
        """Record that the key was used, at most once in `USE_EVERY`. Called after the response; a failed write is logged, not
        raised.
        """
        with self._lock:
            if not self.use_is_due(principal):
                return
            self._last_used_at[principal.digest] = self._clock.monotonic()
            self._last_used_at.move_to_end(principal.digest)
            while len(self._last_used_at) > MOST_REMEMBERED:
                self._last_used_at.popitem(last=False)
        try:
            self._stores.writer.write(self._stores.api_keys.used(principal.digest, self._clock.now(), USE_EVERY))
        except ConditionFailed:
            return  # another process has recorded a use within the minute, or the key was deleted
        except (TableError, StoreUnavailable) as error:
            logger.warning("last use of a key could not be recorded", extra={"error": type(error).__qualname__})

    def _without_keys(self, presented: str | None) -> Principal:
        if not self._required:
            return KEYLESS
        _well_formed(presented)
        raise unknown_key()

    def _digest(self, presented: str | None) -> str:
        digest = self._pepper.digest(_well_formed(presented))
        if digest is None:
            raise unknown_key()
        return digest

    def _answer(self, digest: str) -> _Answer | None:
        with self._lock:
            answer = self._answers.get(digest)
        return answer if answer is not None and self._clock.monotonic() - answer.at < FRESH_SECONDS else None

    def _remember(self, digest: str, answer: _Answer) -> None:
        with self._lock:
            self._answers[digest] = answer
            self._answers.move_to_end(digest)
            while len(self._answers) > MOST_REMEMBERED:
                self._answers.popitem(last=False)

    def _principal(self, key: StoredApiKey | None) -> Principal:
        if key is None:
            raise unknown_key()
        if key.revoked_at is not None:
            raise Unauthenticated("revoked", f"The key {key.id} was revoked. Ask an administrator for another one.")
        if key.expired(self._clock.now()):
            raise Unauthenticated("expired", f"The key {key.id} has expired. Ask an administrator for another one.")
        return key.principal()


def _well_formed(presented: str | None) -> str:
    """The presented key. Raises: Unauthenticated, without a read of the table."""
    if presented is None:
        raise Unauthenticated("missing", "Send an API key in the header Authorization: Bearer <key>.")
    if looks_like_token(presented):
        raise Unauthenticated(
            "token_refused", "This server accepts API keys only. Its operator can set an identity provider for tokens."
        )
    if not is_well_formed(presented):
        raise Unauthenticated("malformed", "The text is not an API key, or it has a typing error. A key begins with hib_.")
    return presented


def unknown_key() -> Unauthenticated:
    """The error for a well-formed key that the table does not hold."""
    return Unauthenticated("unknown", "There is no such key. It may have been deleted, or it belongs to another deployment.")
