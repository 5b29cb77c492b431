"""The port's values, conditions and changes in DynamoDB's wire form.

Knows: attribute values and expressions. Must not know: clients, errors, paging.

Every attribute stands in an expression by a placeholder, since any name may be one of DynamoDB's several hundred reserved words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from hibernaut.adapters.table.bounds import Bounds
from hibernaut.ports.storage.table import Change, Check, Condition, Delete, Item, Key, Op, Put, Term, Update, Value

Wire = dict[str, Any]
"""A JSON object as botocore takes and gives it."""


def wire_value(value: Value) -> Wire:
    """One value with its type."""
    if isinstance(value, bool):
        return {"BOOL": value}
    return {"S": str(value)} if isinstance(value, str) else {"N": str(int(value))}


def wire_item(item: Mapping[str, Value]) -> Wire:
    """An item with its types."""
    return {name: wire_value(value) for name, value in item.items()}


def wire_key(key: Key) -> Wire:
    """The key with its types."""
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def plain_item(item: Mapping[str, Mapping[str, Any]]) -> dict[str, Value]:
    """The item without its types."""
    return {name: int(value["N"]) if "N" in value else next(iter(value.values())) for name, value in item.items()}


class Expression:
    """Hands out placeholders while the texts of one request's expressions are written, and keeps what they stand for."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: Wire = {}

    def name(self, name: str) -> str:
        """The placeholder of an attribute's name; the same for each use of the name."""
        return self._names.setdefault(name, f"#n{len(self._names)}")

    def value(self, value: Value) -> str:
        """A new placeholder that stands for the value."""
        place = f":v{len(self._values)}"
        self._values[place] = wire_value(value)
        return place

    def condition(self, condition: Condition) -> str:
        """The text of a condition: all its terms must hold."""
        return " AND ".join(self._term(term) for term in condition)

    def update(self, change: Update) -> str:
        """The text of an update expression: its clauses SET, ADD and REMOVE."""
        clauses = {
            "SET": [f"{self.name(name)} = {self.value(value)}" for name, value in change.set.items()],
            "ADD": [f"{self.name(name)} {self.value(count)}" for name, count in change.add.items()],
            "REMOVE": [self.name(name) for name in change.remove],
        }
        return " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts)

    def key_condition(self, prefix: str, pk: str, key_range: Bounds) -> str:
        """The range of one partition. With two bounds it includes both ends, and the reader omits them."""
        text, sk = f"{self.name(f'{prefix}pk')} = {self.value(pk)}", f"{prefix}sk"
        match key_range.low, key_range.high:
            case None, None:
                return text
            case str(low), None:
                return f"{text} AND {self.name(sk)} {'>=' if key_range.low_included else '>'} {self.value(low)}"
            case None, str(high):
                return f"{text} AND {self.name(sk)} < {self.value(high)}"
            case low, high:
                return f"{text} AND {self.name(sk)} BETWEEN {self.value(str(low))} AND {self.value(str(high))}"

    def attributes(self) -> Wire:
        """The request's part that says what the placeholders stand for."""
        return {
            **({"ExpressionAttributeNames": {place: name for name, place in self._names.items()}} if self._names else {}),
            **({"ExpressionAttributeValues": self._values} if self._values else {}),
        }

    def _term(self, term: Term) -> str:
        if term.op is Op.EXISTS:
            return f"attribute_exists({self.name(term.name)})"
        if term.op is Op.MISSING or term.value is None:
            return f"attribute_not_exists({self.name(term.name)})"
        return f"{self.name(term.name)} {term.op} {self.value(term.value)}"


def change_request(table_name: str, change: Change) -> tuple[str, Wire]:
    """The change's verb (as TransactWriteItems names it) and its request; the answer to a failed condition contains the old
    item.
    """
    expression = Expression()
    request: Wire
    match change:
        case Put():
            verb, request = "Put", {"Item": wire_item(change.item)}
        case Update():
            verb, request = "Update", {"Key": wire_key(change.key), "UpdateExpression": expression.update(change)}
        case Delete():
            verb, request = "Delete", {"Key": wire_key(change.key)}
        case Check():
            verb, request = "ConditionCheck", {"Key": wire_key(change.key)}
        case _:
            assert_never(change)
    request["TableName"] = table_name
    if change.when:
        request["ConditionExpression"] = expression.condition(change.when)
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return verb, request | expression.attributes()


def old_item(answer: Mapping[str, Any]) -> Item | None:
    """The old item from the answer to a failed condition."""
    item = answer.get("Item")
    return plain_item(item) if item else None
