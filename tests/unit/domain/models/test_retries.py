"""The one retry policy: what is tried again, how often, how long after."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.models.retries import delay
from hibernaut.schemas.errors import (
    ModelAuthentication,
    ModelBadRequest,
    ModelConnection,
    ModelError,
    ModelOverloaded,
    ModelRateLimit,
    ModelTimeout,
)


def test_the_delay_grows_with_each_try_and_jitter_lengthens_it() -> None:
    assert [delay(attempt, ModelOverloaded("busy"), 0.0) for attempt in (1, 2)] == [0.5, 1.0]
    assert delay(1, ModelOverloaded("busy"), 0.5) == 0.75


def test_the_third_try_is_the_last() -> None:
    assert delay(3, ModelConnection("gone"), 0.0) is None


@pytest.mark.parametrize("error", [ModelAuthentication("no"), ModelBadRequest("no"), ModelTimeout("slow"), ModelError("what")])
def test_what_a_second_try_cannot_cure_is_not_tried(error: ModelError) -> None:
    assert delay(1, error, 0.0) is None


def test_the_provider_is_waited_for_as_long_as_it_asks() -> None:
    assert delay(1, ModelRateLimit("slow down", retry_after=7.5), 0.3) == 7.5
    assert delay(1, ModelRateLimit("slow down", retry_after=60), 0.3) == 60


def test_a_provider_that_asks_for_more_than_a_minute_is_given_up() -> None:
    assert delay(1, ModelRateLimit("come tomorrow", retry_after=61), 0.0) is None


@given(st.integers(1, 9), st.floats(0, 1, exclude_max=True))
def test_a_delay_of_our_own_is_between_half_a_second_and_eight(attempt: int, jitter: float) -> None:
    seconds = delay(attempt, ModelConnection("gone"), jitter)
    assert seconds is None or 0.5 <= seconds <= 8.0
