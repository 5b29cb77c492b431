"""The server that the clients of other languages talk to, on both profiles, with a scripted model behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compat.conftest import PROFILES, serving_embedded, serving_offline
from tests.support.provider_servers import ScriptedOpenAI


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as server:
        yield server


@pytest.fixture(scope="module", params=PROFILES)
def url(request: pytest.FixtureRequest, provider: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the server answers."""
    data = tmp_path_factory.mktemp("data")
    with serving_embedded(data, provider) if request.param == "embedded" else serving_offline(provider) as served:
        yield served.url
