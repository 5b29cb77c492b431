"""The stack in this process, and the events that AWS sends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.base import JsonObject

EVENTS = Path(__file__).resolve().parents[2] / "events"

NAMED = {
    "HIBERNAUT_ALLOWED_HOSTS": "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com",
    "HIBERNAUT_CORS_ORIGINS": "http://localhost:3000",
    "HIBERNAUT_CALLERS": "192.0.2.0/24",
}
"""The APIs' name in the samples, the page of the preflight, and whence WebSockets come."""


def sample(function: str, name: str) -> JsonObject:
    """One of `events/<function>/*.json`."""
    event: JsonObject = json.loads((EVENTS / function / f"{name}.json").read_text(encoding="utf-8"))
    return event


@pytest.fixture(scope="module")
def aws() -> Iterator[OfflineAws]:
    with OfflineAws(time_scale=0.001, variables=NAMED) as running:
        yield running
