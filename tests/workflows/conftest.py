"""The stack in this process, with its waiting shortened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hibernaut.local.aws_offline.offline import OfflineAws


@pytest.fixture
def offline() -> Iterator[OfflineAws]:
    with OfflineAws(time_scale=0.001) as aws:
        yield aws
