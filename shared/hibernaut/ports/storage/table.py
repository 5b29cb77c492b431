"""The one table, in DynamoDB's shape: partition and sort key, conditions, transactions, sparse indexes.

Knows: the guarantees of an engine. Must not know: the contents of the table (that is `store`), or which engine implements it.

An item is a flat mapping of attribute names to strings, integers or booleans. `pk` and `sk` are its key. Reserved names:

    pk, sk              the key
    due_pk, due_sk      its place in the index DUE (an item without both is not in it)
    list_pk, list_sk    its place in the index LISTS
    ttl                 epoch seconds after which the engine may drop the item; readers must filter out expired items

Indexes are keys-only and may lag behind the table (DynamoDB); a query of an index answers items that hold only keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple, Protocol

from hibernaut.schemas.immutable import immutable

Value = str | int | bool
"""The types of an attribute's value. Strings in keys are never empty; integers have at most 38 digits."""
Item = Mapping[str, Value]


class Key(NamedTuple):
    """The primary key of an item. Both parts have 1 to 1,024 bytes (UTF-8)."""

    pk: str
    sk: str


class Index(StrEnum):
    """The sparse, keys-only indexes; the values prefix the attribute names (`due_pk`, `due_sk`)."""

    DUE = "due"
    LISTS = "list"


class Op(StrEnum):
    """The comparison operators of a condition. EXISTS and MISSING take no value."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    EXISTS = "exists"
    MISSING = "missing"


class Term(NamedTuple):
    """One comparison. Comparing an absent attribute is false, except for MISSING, and for NE, which is true as in DynamoDB."""

    name: str
    op: Op
    value: Value | None = None


Condition = tuple[Term, ...]
"""All terms must hold for the item as it is before the change. An empty condition always holds."""

ABSENT: Condition = (Term("pk", Op.MISSING),)
PRESENT: Condition = (Term("pk", Op.EXISTS),)


def eq(**values: Value) -> Condition:
    """The condition that each named attribute equals its value."""
    return tuple(Term(name, Op.EQ, value) for name, value in values.items())


@immutable
class Put:
    """Write the whole item and replace the item with its key. `frees` names the blob that becomes unreferenced by this write
    (engines ignore it).
    """

    item: Item
    when: Condition = ()
    frees: str = ""

    @property
    def key(self) -> Key:
        return Key(str(self.item["pk"]), str(self.item["sk"]))


@immutable
class Update:
    """Change single attributes; creates the item if it does not exist (unless the condition forbids it). `add` adds to integers,
    an absent one counting as 0. `frees`: as in Put.
    """

    key: Key
    set: Mapping[str, Value] = field(default_factory=dict)
    add: Mapping[str, int] = field(default_factory=dict)
    remove: Sequence[str] = ()
    when: Condition = ()
    frees: str = ""


@immutable
class Delete:
    """Remove the item; a missing item is no error (unless the condition forbids it). `frees`: as in Put."""

    key: Key
    when: Condition = ()
    frees: str = ""


@immutable
class Check:
    """Only a condition on an item, without a change."""

    key: Key
    when: Condition


Change = Put | Update | Delete | Check

MAX_CHANGES = 100
"""The largest number of changes in one transaction (DynamoDB's limit). No two changes may name the same key."""
MAX_BYTES = 4_000_000
"""The largest total size of the items of one transaction, in bytes (DynamoDB: 4 MB)."""
MAX_ITEM_BYTES = 400_000
"""The largest size of one item including attribute names, in bytes (DynamoDB: 400 KB)."""


class TableError(Exception):
    """The root of the errors that a table raises."""


class ConditionFailed(TableError):
    """The write was rejected as a whole. `failed` maps the position of each failed condition to the item as it
    was.
    """

    def __init__(self, failed: Mapping[int, Item | None]) -> None:
        self.failed = dict(failed)
        super().__init__(f"condition failed at change {sorted(self.failed)}")


class Contended(TableError):
    """Nothing was done: another transaction touched the same items, or the table is throttled or cannot be reached. A retry may
    succeed.
    """


class PartlyRead(Contended):
    """Some of the queries of `query_many` were contended. `found`: the results of the others, by their places among the
    queries.
    """

    def __init__(self, text: str, found: Mapping[int, list[Item]]) -> None:
        super().__init__(text)
        self.found = found


class OutcomeUnknown(TableError):
    """The write may or may not have been applied (lost connection, timeout). The writer finds out by reading its own token."""


class TooLarge(TableError):
    """The transaction or an item exceeds the limits of the table; nothing was done."""


@immutable
class Query:
    """The arguments of one query (`Table.query`)."""

    pk: str
    index: Index | None = None
    after: str | None = None
    before: str | None = None
    prefix: str = ""
    limit: int | None = None
    descending: bool = False
    names: Sequence[str] = ()

    def run(self, query: Callable[..., list[Item]]) -> list[Item]:
        """The result of `query` with these arguments."""
        return query(
            self.pk,
            index=self.index,
            after=self.after,
            before=self.before,
            prefix=self.prefix,
            limit=self.limit,
            descending=self.descending,
            names=self.names,
        )


class Table(Protocol):
    """The table engine. Thread-safe. It never retries; the caller decides. Every call may raise TableError; the methods name the
    subclasses.
    """

    def get(self, key: Key) -> Item | None:
        """The item, or None if it does not exist, by a consistent read. Raises: Contended, TableError."""

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """The items that exist among `keys`, by key. `keys` may be of any number and contain duplicates. Each read is consistent,
        but the items are not one snapshot. Raises: Contended, TableError.
        """

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
        """The items of one partition with after < sk < before (exclusive, in plain string order) whose sk begins with `prefix`,
        ordered by sk.

        On an index the same applies to the index's own keys (`list_pk`, `list_sk`), and the items hold only keys. `limit` counts
        items; without it the engine reads all pages. `names` restricts the attributes that are read (the key is always included).
        A query of the table is consistent, a query of an index is eventually consistent. Raises: Contended, TableError.
        """

    def query_many(self, queries: Sequence[Query]) -> list[list[Item]]:
        """The result of each query, in their order. `queries` may be of any number. An engine behind a network sends several at a
        time, so that the caller waits once; the results are not one snapshot. Raises: as `query`; PartlyRead in place of
        Contended if the engine sends several at a time.
        """

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        """The number of items of one partition whose sk begins with `prefix` and which have the attribute `having`. The engine
        counts: no item is transferred. The count is consistent, like a query of the table. Raises: TableError.
        """

    def write(self, *changes: Change) -> None:
        """Apply all changes or none. A single change is a conditional write; several changes are a transaction.

        Raises: ConditionFailed, Contended, OutcomeUnknown, TooLarge, TableError; ValueError for malformed changes.
        """
