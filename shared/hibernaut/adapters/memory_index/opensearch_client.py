"""The client of OpenSearch, signed or not, without retries, and the translation of its errors to the port's.

    ValueError     a request that OpenSearch rejects as invalid (400)
    IndexAsleep    all others: no connection, no answer in time, no access, an overloaded or broken service

Must not know: the contents of requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hibernaut.ports.memory.memory_index import IndexAsleep

_CONNECTIONS = 8
_MEANINGLESS = 400


def connected(address: str, *, region: str | None = None, service: str = "es", seconds: float = 10.0) -> Any:
    """A client for one address. With a `region` each request is signed (SigV4) with the credentials that botocore finds.

    `service`: `es` for a domain, `aoss` for a serverless collection. The signature covers the host and the headers `x-amz-*`,
    among them the hash of the body, which a collection requires (opensearch-project/opensearch-js#1098), and no other header:
    what stands before a collection drops some of them (opensearch-project/opensearch-py#1047). `seconds`: the time-out of a
    request.
    """
    from opensearchpy import OpenSearch, Urllib3AWSV4SignerAuth

    signing: dict[str, Any] = {}
    if region is not None:
        from botocore.session import Session

        credentials = Session().get_credentials()
        if credentials is None:
            raise IndexAsleep("no credentials to sign requests with")
        signing = {"http_auth": Urllib3AWSV4SignerAuth(credentials, region, service)}
    return OpenSearch(
        hosts=[address], timeout=seconds, max_retries=0, retry_on_timeout=False, pool_maxsize=_CONNECTIONS, **signing
    )


@contextmanager
def translated() -> Iterator[None]:
    """Turn what the client raises inside into the port's errors."""
    from botocore.exceptions import BotoCoreError
    from opensearchpy.exceptions import OpenSearchException, TransportError

    try:
        yield
    except TransportError as error:
        raise of_status(error.status_code, str(error.error)) from error
    except (OpenSearchException, BotoCoreError) as error:
        raise IndexAsleep(f"{type(error).__name__}: {error}") from error


def of_status(status: object, text: str) -> Exception:
    """The port's error for a response's status: ValueError if a retry is pointless, else IndexAsleep."""
    return ValueError(text) if status == _MEANINGLESS else IndexAsleep(f"{status}: {text}")


def whole(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """The response to a search, if all of the index answered in time. Raises: IndexAsleep, ValueError."""
    if "error" in response:
        raise of_status(response.get("status"), f"{response['error'].get('type')}: {response['error'].get('reason')}")
    if response["timed_out"] or response["_shards"]["failed"]:
        raise IndexAsleep("a part of the index did not answer")
    return response


def failed_item(item: Mapping[str, Any]) -> Exception:
    """The port's error for an item that a bulk request did not write."""
    return of_status(item["status"], f"{item['error']['type']}: {item['error'].get('reason')}")
