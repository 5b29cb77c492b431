"""Values of moto's DynamoDB are measured, read and copied as moto does it without the fixes, only sooner."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.local.aws_offline.moto import values as moto_values
from hibernaut.local.aws_offline.patching import original_of

PLAIN = st.one_of(
    st.builds(lambda text: {"S": text}, st.text(max_size=5)),
    st.builds(lambda number: {"N": str(number)}, st.integers()),
    st.builds(lambda data: {"B": data}, st.binary(max_size=5)),
    st.builds(lambda truth: {"BOOL": truth}, st.booleans()),
    st.builds(lambda texts: {"SS": sorted(texts)}, st.sets(st.text(max_size=3), min_size=1, max_size=3)),
    st.just({"NULL": True}),
)
VALUES = st.recursive(
    PLAIN,
    lambda parts: st.one_of(
        st.builds(lambda some: {"L": some}, st.lists(parts, max_size=3)),
        st.builds(lambda some: {"M": some}, st.dictionaries(st.text(max_size=3), parts, max_size=3)),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module", autouse=True)
def fixed() -> None:
    moto_values.install()


@given(value=VALUES)
def test_a_value_has_the_size_and_the_meaning_that_moto_gives_it(value: dict[str, Any]) -> None:
    from moto.dynamodb.models.dynamo_type import DynamoType

    made = DynamoType(value)
    assert made.size() == original_of(DynamoType.size)(made)
    assert made.cast_value == original_of(DynamoType.cast_value.fget)(made)


@given(values=st.dictionaries(st.text(min_size=1, max_size=3), VALUES, max_size=4))
def test_a_copy_of_an_item_is_equal_and_shares_nothing_that_a_write_changes(values: dict[str, Any]) -> None:
    from moto.dynamodb.models.dynamo_type import DynamoType, Item

    item = Item(DynamoType({"S": "p"}), DynamoType({"S": "s"}), values)
    before = item.to_json()
    made = copy.deepcopy(item)
    assert (made == item, made.to_json(), type(made.attrs)) == (True, before, type(item.attrs))
    assert made.size() == original_of(Item.size)(item)
    for value in made.attrs.values():
        if value.type in ("L", "M", "SS"):
            value.value.clear()
    made.attrs["new"] = DynamoType({"S": "x"})
    assert item.to_json() == before
