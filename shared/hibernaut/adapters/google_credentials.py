"""Access tokens for Google Cloud by google-auth, which is imported at the first request. Knows credentials, no model.

The credentials are a JSON object or the path of its file: the key of a service account, an external account (workload identity),
or an authorized user. Without them they are the application default credentials, for which google-auth reads the environment,
gcloud's file and the metadata server (cloud.google.com/docs/authentication/application-default-credentials).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hibernaut.schemas.base import JsonObject

if TYPE_CHECKING:
    from google.auth.credentials import Credentials
    from httpx2 import Client

    from hibernaut.adapters.google_transport import MakeClient

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
ADVICE = "set GOOGLE_APPLICATION_CREDENTIALS to a service account's key, or run where Google's default credentials are"


_MEMBERS = ("project_id", "client_email", "private_key", "token_uri")


class NoGoogleToken(Exception):
    """There is no access token. `retryable`: Google did not answer, and the same call may succeed later. The message has no
    secret.
    """

    def __init__(self, detail: str, *, retryable: bool = False) -> None:
        self.retryable = retryable
        super().__init__(detail)


def direct() -> Client:
    """A client without redirects, proxies or certificates of the environment."""
    from httpx2 import Client

    return Client(trust_env=False, follow_redirects=False)


def service_account(key: str) -> JsonObject:
    """What the key of a service account says, with all members that a token needs. Raises: ValueError, which quotes nothing of
    it.
    """
    try:
        info = json.loads(key)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(info, dict) or info.get("type") != "service_account":
        raise ValueError("its type is not service_account")
    missing = [name for name in _MEMBERS if not isinstance(info.get(name), str) or not info[name]]
    if missing:
        raise ValueError(f"it has no {', '.join(missing)}")
    return info


class GoogleTokens:
    """The headers that authenticate requests to Google Cloud. `source`: the credentials, or None for the default ones. `client`
    creates the HTTP client for token requests, and thereby decides which addresses may be reached. `advice`: what to do without a
    token. Thread-safe.
    """

    def __init__(self, source: str | None = None, *, client: MakeClient = direct, advice: str = ADVICE) -> None:
        self._source = source
        self._client = client
        self._advice = advice
        self._lock = threading.Lock()
        self._credentials: Credentials | None = None

    def headers(self) -> Mapping[str, str]:
        """The `authorization` of a valid token, which is renewed shortly before it expires. Raises: NoGoogleToken."""
        try:
            from google.auth.credentials import TokenState
            from google.auth.exceptions import GoogleAuthError, TransportError

            from hibernaut.adapters.google_transport import HttpxRequest
        except ImportError as error:
            raise NoGoogleToken("Vertex AI needs google-auth; install hibernaut[google]") from error
        found: dict[str, str] = {}
        try:
            with self._lock:
                if self._credentials is None:
                    self._credentials = self._loaded(HttpxRequest(self._client))
                # `before_request` would also ask iamcredentials.googleapis.com, on a thread of its own, where the account may
                # act.
                if self._credentials.token_state is not TokenState.FRESH:
                    self._credentials.refresh(HttpxRequest(self._client))
                self._credentials.apply(found)
        except TransportError as error:
            raise NoGoogleToken("Google's token service cannot be reached", retryable=True) from error
        except GoogleAuthError as error:
            later = bool(getattr(error, "retryable", False))
            raise NoGoogleToken(f"no Google access token ({type(error).__name__}); {self._advice}", retryable=later) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NoGoogleToken(f"the Google credentials cannot be read ({type(error).__name__}); {self._advice}") from error
        return found

    def _loaded(self, request: Any) -> Credentials:
        if self._source is None:
            import google.auth

            found, _ = google.auth.default(scopes=SCOPES, request=request)
            return found
        source = self._source.strip()
        text = source if source.startswith("{") else Path(source).expanduser().read_text(encoding="utf-8")
        return _of(json.loads(text))


def _of(info: JsonObject) -> Credentials:
    """The credentials in a file. Token programs in the file are not run."""
    result: Any
    match info:
        case {"type": "service_account"}:
            from google.oauth2 import service_account

            result = service_account.Credentials.from_service_account_info(info, scopes=SCOPES)
        case {"type": "authorized_user"}:
            from google.oauth2 import credentials

            result = credentials.Credentials.from_authorized_user_info(info, scopes=SCOPES)
        case {"type": "external_account", "credential_source": {"environment_id": str()}}:
            from google.auth import aws

            result = aws.Credentials.from_info(info, scopes=SCOPES)
        case {"type": "external_account", "credential_source": {"file": str()} | {"url": str()}}:
            from google.auth import identity_pool

            result = identity_pool.Credentials.from_info(info, scopes=SCOPES)
        case _:
            raise ValueError("the type of the credentials is not supported")
    found: Credentials = result
    return found
