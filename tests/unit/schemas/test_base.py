"""A message about a wrong JSON value names what the value is."""

from __future__ import annotations

import pytest

from hibernaut.schemas.base import Json, kind_of


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "a boolean"),
        (0, "the number 0"),
        (-1.5, "the number -1.5"),
        (10**20, "a number"),
        (float("nan"), "a number"),
        ("top", "the text 'top'"),
        ("x" * 1_000, f"the text '{'x' * 80}'"),
        ([1], "a list"),
        ({"a": 1}, "an object"),
    ],
)
def test_a_value_is_named_by_its_kind(value: Json, kind: str) -> None:
    assert kind_of(value) == kind
