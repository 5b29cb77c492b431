"""Copies one DynamoDB table into another one, item by item as DynamoDB stores them, and proves that both are equal.

Knows DynamoDB's API. Must not know what the items mean, apart from the item with the copy's own state, which lies in the target
while the copy is under way: an interrupted copy continues behind the pages that it has written.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import Any

from hibernaut.local.progress import ProgressReport
from hibernaut.schemas.immutable import immutable

WireItem = Mapping[str, Any]
STATE_KEY = {"pk": {"S": "RESTORE"}, "sk": {"S": "STATE"}}
"""No tenant's name is in capitals, so no function reads this item."""
SEGMENTS = 4
PAGE = 500
"""Items of one page, unless they have a megabyte before: so many are copied again after an interrupt, in each segment."""
TOGETHER = 25
"""Items of one BatchWriteItem."""
LONGEST_PAUSE = 5.0
_MODULUS = 1 << 256


class CopyFailed(Exception):
    """The copy is not equal to its source, or DynamoDB does not take its items. The message says what to do."""


@immutable
class Digest:
    """The number of items, and a sum of their hashes, which does not depend on their order."""

    items: int = 0
    sum: int = 0

    def with_item(self, item: WireItem) -> Digest:
        """The digest of these items and one more."""
        text = json.dumps(item, sort_keys=True, separators=(",", ":"), default=_text)
        number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
        return Digest(self.items + 1, (self.sum + number) % _MODULUS)

    def __add__(self, other: Digest) -> Digest:
        return Digest(self.items + other.items, (self.sum + other.sum) % _MODULUS)


class TableCopy:
    """The copy of the table `source` into the table `target`. `includes`: a predicate for the copied items. Methods raise errors
    of botocore.

    `wait` pauses between attempts to write items that DynamoDB did not accept.
    """

    def __init__(
        self,
        client: Any,
        source: str,
        target: str,
        *,
        includes: Callable[[WireItem], bool],
        wait: Callable[[float], object] | None = None,
        segments: int = SEGMENTS,
    ) -> None:
        self._client = client
        self._source, self._target = source, target
        self._includes = includes
        self._wait = wait or Event().wait
        self._segments = segments
        self._lock = Lock()

    def state(self) -> dict[str, str]:
        """The attributes of the state item; empty: no copy is under way."""
        found = self._client.get_item(TableName=self._target, Key=STATE_KEY, ConsistentRead=True).get("Item", {})
        return {name: value["S"] for name, value in found.items() if name not in STATE_KEY}

    def remember(self, **attributes: str) -> None:
        """Write attributes of the state item."""
        names = {f"#{place}": name for place, name in enumerate(attributes)}
        values = {f":{place}": {"S": value} for place, value in enumerate(attributes.values())}
        changes = ", ".join(f"#{place} = :{place}" for place in range(len(attributes)))
        self._client.update_item(
            TableName=self._target,
            Key=STATE_KEY,
            UpdateExpression=f"SET {changes}",
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
        )

    def begin_again(self) -> None:
        """Forget how far the copy is: the next one empties the target and copies every segment."""
        self.remember(stage="empty", **{f"segment_{number}": "" for number in range(self._segments)})

    def forget(self) -> None:
        """Delete the state item."""
        self._client.delete_item(TableName=self._target, Key=STATE_KEY)

    def has_data(self) -> bool:
        """Whether the target holds anything but the collector's cursor, which every sweep of an empty stack writes."""
        page = self._client.scan(TableName=self._target, Limit=10, ConsistentRead=True, ProjectionExpression="pk")
        return (
            any(item["pk"]["S"] not in ("COLLECTION", STATE_KEY["pk"]["S"]) for item in page["Items"])
            or "LastEvaluatedKey" in page
        )

    def empty(self, progress: ProgressReport) -> None:
        """Delete every item of the target but the state."""
        deleted = 0
        for items in self._pages(self._target, None, {"ProjectionExpression": "pk, sk"}):
            self._write([{"DeleteRequest": {"Key": {"pk": one["pk"], "sk": one["sk"]}}} for one in items if not _is_state(one)])
            deleted += len(items)
            progress.share(0, deleted)

    def copy(self, progress: ProgressReport) -> None:
        """Write every item of the source, several segments at a time, and remember how far each one is."""
        state, about = self.state(), self._client.describe_table(TableName=self._source)["Table"].get("ItemCount", 0)
        done = 0

        def segment(number: int) -> None:
            nonlocal done
            name = f"segment_{number}"
            if state.get(name) == "done":
                return
            start = json.loads(state[name]) if state.get(name) else None
            for items, last in self._scanned(self._source, number, start):
                self._write([{"PutRequest": {"Item": item}} for item in items if self._includes(item)])
                self.remember(**{name: json.dumps(last) if last else "done"})
                with self._lock:
                    done += len(items)
                    progress.share(min(done, about), about)

        self._each_segment(segment)

    def verify(self) -> Digest:
        """The digest of both tables. Raises: CopyFailed if they differ."""
        expected, found = self._digest(self._source, self._includes), self._digest(self._target, lambda item: not _is_state(item))
        if expected != found:
            raise CopyFailed(
                f"{self._target} has {found.items:,} items, and {expected.items:,} were to be copied"
                + ("" if expected.items != found.items else ", and some of them differ")
                + ": something wrote to it meanwhile; run the command again"
            )
        return found

    def _digest(self, table: str, counted: Callable[[WireItem], bool]) -> Digest:
        found: list[Digest] = []

        def segment(number: int) -> None:
            own = Digest()
            for items, _ in self._scanned(table, number, None):
                for item in filter(counted, items):
                    own = own.with_item(item)
            found.append(own)

        self._each_segment(segment)
        return sum(found, Digest())

    def _each_segment(self, work: Callable[[int], None]) -> None:
        with ThreadPoolExecutor(self._segments) as threads:
            for each in [threads.submit(work, number) for number in range(self._segments)]:
                each.result()

    def _pages(self, table: str, number: int | None, more: Mapping[str, Any]) -> Iterator[Sequence[WireItem]]:
        for items, _ in self._scanned(table, number, None, more):
            yield items

    def _scanned(
        self, table: str, number: int | None, start: Any, more: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[Sequence[WireItem], Any]]:
        """The pages of a segment (None: of the table) behind `start`, each with the key of its last item; None at the end."""
        part = {} if number is None else {"Segment": number, "TotalSegments": self._segments}
        while True:
            begin = {"ExclusiveStartKey": start} if start else {}
            page = self._client.scan(TableName=table, ConsistentRead=True, Limit=PAGE, **part, **begin, **(more or {}))
            start = page.get("LastEvaluatedKey")
            yield page["Items"], start
            if not start:
                return

    def _write(self, requests: Sequence[Any]) -> None:
        for at in range(0, len(requests), TOGETHER):
            unprocessed, pause = {self._target: list(requests[at : at + TOGETHER])}, 0.1
            while unprocessed.get(self._target):
                unprocessed = self._client.batch_write_item(RequestItems=unprocessed).get("UnprocessedItems", {})
                if unprocessed.get(self._target):
                    self._wait(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)


def _is_state(item: WireItem) -> bool:
    return {name: item[name] for name in STATE_KEY} == STATE_KEY


def _text(value: object) -> str:
    """Bytes as text; other values are text already."""
    return (
        base64.b64encode(value).decode() if isinstance(value, bytes) else str(sorted(value) if isinstance(value, set) else value)
    )
