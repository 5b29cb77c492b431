"""What all properties need."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_collection_within_a_test() -> Iterator[None]:
    """Many examples are nested to the recursion limit. A collection that begins there runs finalizers of other tests' objects,
    which fail by RecursionError, and pytest reports them as failures of the test that runs.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
