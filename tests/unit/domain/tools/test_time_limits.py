"""The time limit of a tool of its own."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.tools.time_limits import KEY, check, seconds_of
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument

ODD = [0, -1, True, "5", [5], math.inf, math.nan]


@given(st.one_of(st.none(), st.integers(), st.floats(), st.text(), st.booleans()), st.floats(0.1, 900))
def test_a_tool_never_has_more_than_the_server_allows_and_always_some(own: object, most: float) -> None:
    assert 0 < seconds_of({KEY: own}, most) <= most  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("metadata", "seconds"), [(None, 60.0), ({}, 60.0), ({KEY: 5}, 5.0), ({KEY: 0.5}, 0.5), ({KEY: 61}, 60.0)]
)
def test_the_smaller_limit_applies(metadata: JsonObject | None, seconds: float) -> None:
    check(metadata)
    assert seconds_of(metadata, 60.0) == seconds


@pytest.mark.parametrize("own", ODD)
def test_what_is_no_limit_is_refused_where_it_is_set_and_ignored_where_it_came_otherwise(own: object) -> None:
    metadata: JsonObject = {KEY: own}  # type: ignore[dict-item]
    with pytest.raises(InvalidArgument, match=KEY):
        check(metadata)
    assert seconds_of(metadata, 60.0) == 60.0
