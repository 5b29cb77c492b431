"""The port `ClientConnections` over the management API of an API Gateway WebSocket API. Knows its calls and errors; must not know
the messages.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol, cast

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.ports.events.sockets import ConnectionGone, NotPosted

_CONNECT_TIMEOUT, _READ_TIMEOUT = 2, 5
_ATTEMPTS = 4
"""Attempts of one request: throttling (429) and lost answers are repeated by botocore, with backoff and jitter. No other layer
retries.
"""


class ManagementClient(Protocol):
    """The used part of botocore's client."""

    def post_to_connection(self, **request: Any) -> Any: ...

    def delete_connection(self, **request: Any) -> Any: ...


class GatewayConnections:
    """The connections of one WebSocket API. `endpoint`: https://{api}.execute-api.{region}.amazonaws.com/{stage}."""

    def __init__(self, endpoint: str, client: ManagementClient | None = None) -> None:
        self._endpoint = endpoint
        self._client = client
        self._lock = threading.Lock()

    def post(self, connection_id: str, text: str) -> None:
        """Send a message. Raises: ConnectionGone, NotPosted."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._managing().post_to_connection(ConnectionId=connection_id, Data=text.encode())
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in ("GoneException", "410"):
                raise ConnectionGone(connection_id) from error
            raise NotPosted(code) from error
        except BotoCoreError as error:
            raise NotPosted(type(error).__name__) from error

    def close(self, connection_id: str) -> None:
        """Close the connection. Raises: NotPosted."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._managing().delete_connection(ConnectionId=connection_id)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code not in ("GoneException", "410"):
                raise NotPosted(code) from error
        except BotoCoreError as error:
            raise NotPosted(type(error).__name__) from error

    def _managing(self) -> ManagementClient:
        with self._lock:
            if self._client is None:
                from botocore.config import Config

                retries = {"mode": "standard", "total_max_attempts": _ATTEMPTS}
                config = Config(connect_timeout=_CONNECT_TIMEOUT, read_timeout=_READ_TIMEOUT, retries=retries)  # type: ignore[arg-type]
                client = aws_client("apigatewaymanagementapi", config, endpoint_url=self._endpoint)
                self._client = cast("ManagementClient", client)
            return self._client
