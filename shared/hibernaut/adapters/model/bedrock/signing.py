"""Signs requests to Bedrock: Signature Version 4 by botocore, with the credentials of the process or with given ones.

botocore is imported at the first request. Credentials that expire are renewed by botocore; each request is signed with those of
its moment.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hibernaut.adapters.model.provider_settings import ProviderSettings
from hibernaut.adapters.model.wire.provider_client import Headers, OutgoingRequest, fixed
from hibernaut.schemas.errors import ModelAuthentication

if TYPE_CHECKING:
    from botocore.credentials import Credentials

SERVICE = "bedrock"
"""The service in the signature's scope (`signingName` of botocore's models `bedrock` and `bedrock-runtime`)."""
Source = Callable[[], "Credentials | None"]


def headers_of(settings: ProviderSettings) -> Headers:
    """What authenticates requests: a signature, or a Bedrock API key if the settings have a key without an access key
    (docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html).
    """
    if settings.key and not settings.access_key:
        return fixed({"Authorization": f"Bearer {settings.key}"})
    return SignedHeaders(settings.name, settings.region or "", _source(settings))


class SignedHeaders:
    """The signature of each request. `source` gives the credentials and is asked once. Thread-safe.

    Raises: ModelAuthentication if botocore is not installed, or if there are no credentials.
    """

    def __init__(self, provider: str, region: str, source: Source) -> None:
        self._provider = provider
        self._region = region
        self._source = source
        self._credentials: Credentials | None = None
        self._lock = threading.Lock()

    def __call__(self, outgoing: OutgoingRequest) -> Mapping[str, str]:
        try:
            from botocore.auth import SigV4Auth
            from botocore.awsrequest import AWSRequest
            from botocore.exceptions import BotoCoreError
        except ImportError as error:
            raise ModelAuthentication(f"{self._provider}: signing needs botocore; install hibernaut[aws]") from error
        content = {"Content-Type": "application/json"} if outgoing.body else {}
        request = AWSRequest(method=outgoing.method, url=outgoing.url, data=outgoing.body, headers=content)
        try:
            frozen = self._current().get_frozen_credentials()
            SigV4Auth(frozen, SERVICE, self._region).add_auth(request)
        except BotoCoreError as error:
            raise ModelAuthentication(f"{self._provider}: no usable AWS credentials ({type(error).__name__})") from error
        return {str(name): str(value) for name, value in request.headers.items()}

    def _current(self) -> Credentials:
        with self._lock:
            if self._credentials is None:
                self._credentials = self._source()
            if self._credentials is None:
                raise ModelAuthentication(
                    f"{self._provider}: no AWS credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                    "or AWS_PROFILE, or run with a role"
                )
            return self._credentials


def _source(settings: ProviderSettings) -> Source:
    access_key, secret = settings.access_key, settings.key

    def static() -> Credentials | None:
        from botocore.credentials import Credentials

        return Credentials(access_key or "", secret or "")

    return static if access_key else _of_the_process


def _of_the_process() -> Credentials | None:
    """What the AWS command line would use. Variables come first in its chain, and Lambda sets them: a session is made for what
    else there is, because it registers 120 handlers (40 ms of CPU).
    """
    from botocore.credentials import EnvProvider

    if (found := EnvProvider().load()) is not None:
        return found
    from botocore.session import get_session

    return get_session().get_credentials()
