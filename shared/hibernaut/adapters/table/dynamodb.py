"""The table in DynamoDB: the engine on AWS.

Knows: DynamoDB's API, through botocore, which is imported at the first request. Must not know: the contents of the table.

No request is sent twice: the caller decides about retries. Answers in pages are read page by page.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from hibernaut.adapters.aws_clients import CurrentCredentials, aws_client
from hibernaut.adapters.aws_meter import count_use
from hibernaut.adapters.table.bounds import bounds
from hibernaut.adapters.table.definition import index_name
from hibernaut.adapters.table.dynamodb_errors import translated, whole_answers
from hibernaut.adapters.table.dynamodb_requests import Expression, Wire, change_request, plain_item, wire_key
from hibernaut.adapters.table.limits import check
from hibernaut.ports.storage.table import Change, Check, Contended, Index, Item, Key, PartlyRead, Query

if TYPE_CHECKING:
    from botocore.config import Config
    from mypy_boto3_dynamodb import DynamoDBClient

_KEYS_AT_ONCE = 100
"""Keys of one BatchGetItem (DynamoDB's limit)."""
_QUERIES_AT_ONCE = 16
"""The largest number of queries of `query_many` that are under way at the same time, of all callers together."""
_CONNECT_SECONDS = 2
_READ_SECONDS = 10
"""Longer than DynamoDB's slowest transaction, so that the client does not abandon an answer on its way."""
_CONNECTIONS = 64
_TELLS = {"ReturnConsumedCapacity": "TOTAL"}
"""Each answer tells the units that the request is charged for."""


class DynamoDbTable:
    """The engine over the table with this name.

    Without a client it creates its own, with boto3's default region and credentials, at `endpoint_url`, if any. An injected
    client must not retry (`one_attempt()`), or the retry of a successful write would report a failed condition.
    """

    def __init__(
        self,
        table_name: str,
        *,
        client: DynamoDBClient | None = None,
        endpoint_url: str | None = None,
        credentials: CurrentCredentials | None = None,
    ) -> None:
        self._name = table_name
        self._endpoint_url = endpoint_url
        self._credentials = credentials
        self._client: Any = whole_answers(client) if client is not None else None
        self._making = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None

    def get(self, key: Key) -> Item | None:
        with translated(writing=False):
            answer = self._dynamodb().get_item(TableName=self._name, Key=wire_key(key), ConsistentRead=True, **_TELLS)
        _read(answer)
        return plain_item(answer["Item"]) if "Item" in answer else None

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        unique = list(dict.fromkeys(keys))
        found: dict[Key, Item] = {}
        for start in range(0, len(unique), _KEYS_AT_ONCE):
            for item in self._get_page([wire_key(key) for key in unique[start : start + _KEYS_AT_ONCE]]):
                found[Key(str(item["pk"]), str(item["sk"]))] = item
        return found

    def query(
        self,
        pk: str,
        *,
        index: Index | None = None,
        after: str | None = None,
        before: str | None = None,
        prefix: str = "",
        limit: int | None = None,
        descending: bool = False,
        names: Sequence[str] = (),
    ) -> list[Item]:
        key_range = bounds(after, before, prefix)
        if key_range.nothing or limit == 0:
            return []
        expression = Expression()
        place = "" if index is None else f"{index}_"
        request: Wire = {
            "TableName": self._name,
            "KeyConditionExpression": expression.key_condition(place, pk, key_range),
            "ScanIndexForward": not descending,
            **_TELLS,
        }
        if index is not None:
            request["IndexName"] = index_name(index)
        else:
            request["ConsistentRead"] = True
            if names:
                request["ProjectionExpression"] = ", ".join(expression.name(name) for name in dict.fromkeys(("pk", "sk", *names)))
        return self._pages(request | expression.attributes(), lambda item: key_range.admits(str(item[f"{place}sk"])), limit)

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        if len(queries) < 2:
            return [one.run(self.query) for one in queries]
        self._dynamodb()
        # Each query runs in the caller's context, so that observers of calls know their origin.
        contexts = [copy_context() for _ in queries]
        outcomes = list(self._executor().map(lambda context, one: context.run(self._tried, one), contexts, queries))
        refused = [outcome for outcome in outcomes if isinstance(outcome, Contended)]
        found = {place: outcome for place, outcome in enumerate(outcomes) if not isinstance(outcome, Contended)}
        if refused:
            raise PartlyRead(str(refused[0]), found) from refused[0]
        return list(found.values())

    def _tried(self, one: Query) -> list[Item] | Contended:
        try:
            return one.run(self.query)
        except Contended as error:
            return error

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        expression = Expression()
        request: Wire = {
            "TableName": self._name,
            "KeyConditionExpression": expression.key_condition("", pk, bounds(None, None, prefix)),
            "ConsistentRead": True,
            "Select": "COUNT",
            **_TELLS,
        }
        if having not in ("pk", "sk"):  # DynamoDB takes no filter on a key, which every item has
            request["FilterExpression"] = f"attribute_exists({expression.name(having)})"
        request |= expression.attributes()
        found = 0
        while True:
            with translated(writing=False):
                page = self._dynamodb().query(**request)
            _read(page)
            found += int(page["Count"])
            if "LastEvaluatedKey" not in page:
                return found
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def write(self, *changes: Change) -> None:
        check(changes)
        client = self._dynamodb()
        requests = [change_request(self._name, change) for change in changes]
        with translated(writing=True):
            if len(changes) > 1 or isinstance(changes[0], Check):
                answer = client.transact_write_items(TransactItems=[{verb: request} for verb, request in requests], **_TELLS)
            else:
                verb, request = requests[0]
                send = {"Put": client.put_item, "Update": client.update_item, "Delete": client.delete_item}[verb]
                answer = send(**request, **_TELLS)
        count_use(write_units=_units(answer))

    def _get_page(self, keys: list[Wire]) -> list[Item]:
        """The items of some keys. DynamoDB returns unprocessed keys if an answer is too large or if it throttles. Raises:
        Contended without progress.
        """
        found: list[Item] = []
        while keys:
            with translated(writing=False):
                request = {self._name: {"Keys": keys, "ConsistentRead": True}}
                answer = self._dynamodb().batch_get_item(RequestItems=request, **_TELLS)
            _read(answer)
            items = answer["Responses"].get(self._name, [])
            remaining = answer.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])
            if remaining and not items:
                raise Contended(f"{len(remaining)} keys were not read")
            found += [plain_item(item) for item in items]
            keys = remaining
        return found

    def _pages(self, request: Wire, admits: Callable[[Item], bool], limit: int | None) -> list[Item]:
        found: list[Item] = []
        while True:
            if limit is not None:
                # Two more: a range with two bounds includes both ends, which are omitted here.
                request["Limit"] = limit - len(found) + 2
            with translated(writing=False):
                page = self._dynamodb().query(**request)
            _read(page)
            found += [item for item in map(plain_item, page["Items"]) if admits(item)]
            if limit is not None and len(found) >= limit:
                return found[:limit]
            if "LastEvaluatedKey" not in page:
                return found
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _dynamodb(self) -> Any:
        if self._client is None:
            with self._making:
                client = aws_client("dynamodb", one_attempt(), endpoint_url=self._endpoint_url, credentials=self._credentials)
                self._client = self._client or whole_answers(client)
        return self._client

    def _executor(self) -> ThreadPoolExecutor:
        """The threads of parallel queries, started when the first of them are sent."""
        with self._making:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_QUERIES_AT_ONCE, thread_name_prefix="dynamodb-query")
            return self._threads


def _units(answer: Wire) -> float:
    """The units that DynamoDB charges for a request, those of including the indexes. A failed request reports none."""
    capacities = answer.get("ConsumedCapacity") or []
    return sum(float(one.get("CapacityUnits", 0)) for one in (capacities if isinstance(capacities, list) else [capacities]))


def _read(answer: Wire) -> None:
    count_use(read_units=_units(answer))


def one_attempt() -> Config:
    """botocore's configuration of clients that send each request once."""
    from botocore.config import Config

    return Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        max_pool_connections=_CONNECTIONS,
        tcp_keepalive=True,
    )
