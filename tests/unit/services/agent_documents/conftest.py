"""A server of one process whose agents are exported and imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.agent_documents import world_in
from tests.support.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return world_in(tmp_path)
