"""Clients of AWS's services, from botocore, with its default region and credentials.

boto3 adds resources and transfers, which no adapter uses, and its import is a quarter of the CPU time of a function's first
client.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from botocore.config import Config
    from botocore.credentials import ReadOnlyCredentials

_REGION = {"region": ("region", ["AWS_REGION", "AWS_DEFAULT_REGION"], None, None)}
"""botocore reads AWS_DEFAULT_REGION alone. AWS's command line and its other SDKs read AWS_REGION, which comes first there too."""


class CurrentCredentials(Protocol):
    """Credentials that may differ from call to call."""

    def current(self) -> ReadOnlyCredentials:
        """The credentials of the call that is being signed."""


def aws_client(
    service: str,
    config: Config,
    *,
    region: str | None = None,
    endpoint_url: str | None = None,
    credentials: CurrentCredentials | None = None,
) -> Any:
    """A thread-safe client. It has its own session, because threads must not share a session. `credentials` None: botocore's
    default credentials.

    Raises: BotoCoreError without a region.
    """
    from botocore.session import get_session  # at the first use: a process without AWS has no botocore

    session = get_session(_REGION)
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))
    if credentials is not None:
        session.register_component("credential_provider", _per_call_provider(credentials))
    return session.create_client(service, region_name=region, config=config, endpoint_url=endpoint_url)


@cache
def _loader(data_path: str | None) -> Any:
    """The loader of botocore's data, which keeps what it has read. All sessions share it, since each would parse the list of
    endpoints again: two thirds of the CPU time of a function's further clients. Threads that meet in it parse a file twice at
    worst.
    """
    from botocore.loaders import create_loader

    return create_loader(data_path)


def _per_call_provider(source: CurrentCredentials) -> Any:
    """A provider of credentials that asks the source at each signature."""
    from botocore.credentials import Credentials

    class PerCallCredentials(Credentials):
        """Credentials that are current at each signature."""

        def get_frozen_credentials(self) -> ReadOnlyCredentials:
            return source.current()

    class PerCallProvider:
        """A provider of botocore that gives them."""

        def load_credentials(self) -> Credentials:
            return PerCallCredentials("", "")

    return PerCallProvider()
