"""The tags of agents through the SDK (Letta V1 API, API 2.15)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from letta_client import Letta

pytestmark = pytest.mark.deployed


@pytest.mark.manifest("tags.list")
def test_tags_are_listed_in_alphabetical_order(client: Letta, new_agent: Callable[..., Any]) -> None:
    for tags in (["tagged-b", "tagged-a"], ["tagged-c", "tagged-b"]):
        new_agent(tags=tags)
    assert client.tags.list(name="tagged-") == ["tagged-a", "tagged-b", "tagged-c"]
    assert client.tags.list(name="tagged-", order="desc", limit=1) == ["tagged-c"]
    assert client.tags.list(name="tagged-", after="tagged-a") == ["tagged-b", "tagged-c"]
