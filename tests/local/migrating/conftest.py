"""A target: the embedded server on a loopback port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from httpx2 import Client

from tests.compat.conftest import serving_embedded
from tests.support.provider_servers import ScriptedOpenAI


@pytest.fixture(scope="module")
def new_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with ExitStack() as running:
        provider = running.enter_context(ScriptedOpenAI())
        served = running.enter_context(serving_embedded(tmp_path_factory.mktemp("new"), provider, embedding="none"))
        yield running.enter_context(Client(base_url=served.url, timeout=60))
