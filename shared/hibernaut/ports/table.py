"""The one table, in DynamoDB's shape: partition and sort key, conditions, transactions, sparse indexes, a change stream.

Knows: what an engine must promise. Must not know: what is kept in the table (that is `store`), or which engine is behind.

An item is a flat mapping of attribute names to strings, integers or booleans. `pk` and `sk` are its key. Reserved names:

    pk, sk              the key
    due_pk, due_sk      its place in the index DUE (an item without both is not in it)
    list_pk, list_sk    its place in the index LISTS
    ttl                 epoch seconds after which the engine may drop the item; readers must filter what has expired themselves

Indexes are keys-only and may lag behind the table (DynamoDB); a query of an index answers items that hold only keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

Value = str | int | bool
"""What an attribute may hold. Strings are never empty in keys; integers have at most 38 digits."""
Item = Mapping[str, Value]


class Key(NamedTuple):
    """Where an item stands. Both parts have 1 to 1,024 bytes (UTF-8)."""

    pk: str
    sk: str


class Index(StrEnum):
    """The sparse, keys-only indexes; the values prefix the attribute names (`due_pk`, `due_sk`)."""

    DUE = "due"
    LISTS = "list"


class Op(StrEnum):
    """How a condition compares an attribute with its value. EXISTS and MISSING take no value."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    EXISTS = "exists"
    MISSING = "missing"


class Term(NamedTuple):
    """One comparison. A comparison with an attribute that is not there is false, except MISSING (and NE, as in DynamoDB, true)."""

    name: str
    op: Op
    value: Value | None = None


Condition = tuple[Term, ...]
"""All terms must hold of the item as it stands before the change. An empty condition always holds."""

ABSENT: Condition = (Term("pk", Op.MISSING),)
PRESENT: Condition = (Term("pk", Op.EXISTS),)


def eq(**values: Value) -> Condition:
    """The condition that each named attribute equals its value."""
    return tuple(Term(name, Op.EQ, value) for name, value in values.items())


@dataclass(frozen=True, slots=True)
class Put:
    """Write the whole item, in place of one with its key. `frees`: the blob that nothing names any more once this is written (engines
    ignore it)."""

    item: Item
    when: Condition = ()
    frees: str = ""

    @property
    def key(self) -> Key:
        return Key(str(self.item["pk"]), str(self.item["sk"]))


@dataclass(frozen=True, slots=True)
class Update:
    """Change single attributes; makes the item where there is none (unless the condition forbids it). `add` counts integers up from 0.
    `frees`: as in Put."""

    key: Key
    set: Mapping[str, Value] = field(default_factory=dict)
    add: Mapping[str, int] = field(default_factory=dict)
    remove: Sequence[str] = ()
    when: Condition = ()
    frees: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the item; nothing happens where there is none (unless the condition forbids it). `frees`: as in Put."""

    key: Key
    when: Condition = ()
    frees: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """Only the condition."""

    key: Key
    when: Condition


Change = Put | Update | Delete | Check

MAX_CHANGES = 100
"""Changes in one transaction (DynamoDB's limit). No two may name the same key."""
MAX_BYTES = 4_000_000
"""Bytes of one transaction's items together (DynamoDB: 4 MB)."""
MAX_ITEM_BYTES = 400_000
"""Bytes of one item, names included (DynamoDB: 400 KB)."""


@dataclass(frozen=True, slots=True)
class Record:
    """One change of one item as the stream tells it, in the order of changes of that item. Writes without effect are not told."""

    cursor: str
    key: Key
    old: Item | None
    new: Item | None


class TableError(Exception):
    """The root of what a table may raise."""


class ConditionFailed(TableError):
    """Nothing of the write was done. `failed` names each change (by its place) whose condition was false, with the item as it stood."""

    def __init__(self, failed: Mapping[int, Item | None]) -> None:
        self.failed = dict(failed)
        super().__init__(f"condition failed at change {sorted(self.failed)}")


class Contended(TableError):
    """Nothing was done: another transaction touched the same items, or the table is throttled. Worth trying again."""


class OutcomeUnknown(TableError):
    """The write may or may not have been done (connection lost, time out). The writer finds out by its own token."""


class TooLarge(TableError):
    """The transaction or an item passes the table's limits; nothing was done."""


class Table(Protocol):
    """The engine. It never tries again by itself: who calls decides. Reads raise Contended where trying again may help."""

    def get(self, key: Key) -> Item | None:
        """The item as the last completed write left it (a consistent read)."""

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """The items that exist among `keys` (any number; doubles are fine), each read consistently, not together at one moment."""

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
        """Items of one partition with after < sk < before (both exclusive, plain string order) whose sk begins with `prefix`, in the
        order of sk. Of an index: the same on its own keys (`list_pk`, `list_sk`), and the items hold the keys only. `limit` counts
        items; without it all are read, page by page. `names`: only these attributes (and the key) are asked for. A query of the
        table is consistent, of an index is not.
        """

    def count(self, pk: str, *, prefix: str = "", having: str = "pk") -> int:
        """How many items of one partition there are whose sk begins with `prefix` and which have the attribute `having`. The engine counts:
        no item is sent. Consistent as a query of the table is."""

    def write(self, *changes: Change) -> None:
        """All changes or none. A single change is a plain conditional write, more are a transaction.

        Raises: ConditionFailed, Contended, OutcomeUnknown, TooLarge.
        """

    def changes(self, after: str | None = None, limit: int = 1000) -> list[Record]:
        """The change stream after a cursor (None: from its beginning; kept for at least 24 hours).

        The images of an item that has the attribute `private`, true, may lack its body: an engine need not copy secrets into its stream.
        """
