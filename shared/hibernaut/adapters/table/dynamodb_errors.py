"""The errors of DynamoDB and of its connection, as the port's errors.

Knows: botocore's exceptions and DynamoDB's codes. Must not know: requests.

    ConditionFailed     a condition was false (alone, or among the reasons of a cancelled transaction)
    Contended           a conflict, throttling, or no connection: nothing was written. For reads also other transient errors
    OutcomeUnknown      a write with a lost or unreadable answer, or with an error of the service
    TooLarge            a size limit
    ValueError          a request that DynamoDB rejects as invalid
    TableError          all others: access, missing table, credentials
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hibernaut.adapters.table.dynamodb_requests import old_item
from hibernaut.ports.storage.table import ConditionFailed, Contended, OutcomeUnknown, TableError, TooLarge

_CONDITION = "ConditionalCheckFailed"
_BUSY = frozenset(
    (
        "TransactionConflict",
        "TransactionConflictException",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "ThrottlingError",
        "ThrottlingException",
        "Throttling",
        "RequestLimitExceeded",
        "LimitExceededException",
    )
)
_UNDER_WAY = "TransactionInProgressException"
_LARGE = frozenset(("ItemCollectionSizeLimitExceeded", "ItemCollectionSizeLimitExceededException", "RequestEntityTooLarge"))
_MEANINGLESS = frozenset(("ValidationError", "ValidationException"))
_OF_SIZE = ("size", "too large", "Member must have length less than or equal to")


@contextmanager
def translated(*, writing: bool) -> Iterator[None]:
    """Turn what botocore raises inside into the port's errors."""
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        ConnectTimeoutError,
        EndpointConnectionError,
        HTTPClientError,
        IncompleteReadError,
    )
    from botocore.parsers import ResponseParserError

    try:
        yield
    except ClientError as error:
        raise _of_answer(error.response, writing=writing) from error
    except (EndpointConnectionError, ConnectTimeoutError) as error:
        raise Contended(f"no connection: {error}") from error
    except (HTTPClientError, IncompleteReadError, ResponseParserError) as error:
        raise _passing(f"{type(error).__name__}: {error}", writing=writing) from error
    except BotoCoreError as error:
        raise TableError(f"{type(error).__name__}: {error}") from error


def whole_answers(client: Any) -> Any:
    """The client, which from now on refuses an answer that ends before its announced length.

    botocore takes such an answer for one without content: half an item would be read as no item.
    """
    client.meta.events.register_last("before-parse", _refuse_cut_off, unique_id="hibernaut-whole-answers")
    return client


def _refuse_cut_off(response_dict: Mapping[str, Any], **_: object) -> None:
    from botocore.exceptions import IncompleteReadError

    body, expected = response_dict["body"], response_dict["headers"].get("Content-Length")
    if expected is not None and len(body) < int(expected):
        raise IncompleteReadError(actual_bytes=len(body), expected_bytes=int(expected))


def _of_answer(response: Mapping[str, Any], *, writing: bool) -> Exception:
    code, text = response["Error"].get("Code", ""), response["Error"].get("Message", "")
    if code == "ConditionalCheckFailedException":
        return ConditionFailed({0: old_item(response)})
    if code == "TransactionCanceledException":
        return _of_reasons(response.get("CancellationReasons", ()), text)
    if response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500 or code == _UNDER_WAY:
        return _passing(f"{code}: {text}", writing=writing)
    return _of_code(code, text)


def _of_reasons(reasons: Sequence[Mapping[str, Any]], text: str) -> Exception:
    """The error of a cancelled transaction, which wrote nothing. A false condition has precedence over other reasons."""
    failed = {place: old_item(reason) for place, reason in enumerate(reasons) if reason.get("Code") == _CONDITION}
    if failed:
        return ConditionFailed(failed)
    causes = [reason for reason in reasons if reason.get("Code", "None") != "None"]
    lasting = [reason for reason in causes if reason["Code"] not in _BUSY]
    if causes and not lasting:
        return Contended(text)
    return _of_code(lasting[0]["Code"], lasting[0].get("Message", text)) if lasting else TableError(text)


def _of_code(code: str, text: str) -> Exception:
    if code in _BUSY:
        return Contended(f"{code}: {text}")
    if code in _LARGE:
        return TooLarge(text)
    if code in _MEANINGLESS:
        return TooLarge(text) if any(word in text for word in _OF_SIZE) else ValueError(text)
    return TableError(f"{code}: {text}")


def _passing(text: str, *, writing: bool) -> Exception:
    return OutcomeUnknown(text) if writing else Contended(text)
