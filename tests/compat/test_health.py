"""Health, and the frame around every request (digest 1.1, 1.6, 2.1)."""

from __future__ import annotations

import httpx
import pytest
from letta_client import Letta

import hibernaut


@pytest.mark.manifest("health.check")
def test_health_tells_the_version(client: Letta) -> None:
    health = client.health()
    assert (health.version, health.status) == (hibernaut.__version__, "ok")


@pytest.mark.manifest("health.ready")
def test_a_server_that_answers_is_ready(http: httpx.Client) -> None:
    assert http.get("/v1/ready/").status_code == 200
