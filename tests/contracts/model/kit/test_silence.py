"""A provider that is silent before its answer, behind its head, or between two events: on every wire it is a time-out that names
the provider.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.ports.model import Delta, ModelRequest
from hibernaut.schemas.errors import ModelTimeout
from tests.contracts.model.kit import compatible
from tests.contracts.model.kit.plays import Think, reply
from tests.contracts.model.kit.server import KitServer, Provider
from tests.contracts.model.kit.test_kit import PROVIDERS
from tests.support.provider_http import Recorded, Wire
from tests.support.rows import Rows

SECONDS = (0.1, 1.0, 10.0)
"""Of a request. The servers wait until the client hangs up. A busy machine may need more than the first for sending the request;
then the test says nothing yet, and is repeated with the next.
"""
SILENCES: dict[str, Wire] = {
    "before its answer": {"hang": True},
    "behind its head": {"stall": True},
    "between two events": {"holds": 1},
}
WIRES = (*tuple(each for each in PROVIDERS if each not in compatible.PROVIDERS), compatible.DEEPSEEK, compatible.OLLAMA)
"""All wires, and of the servers that are compatible with one of them two."""
CASES = [
    pytest.param(provider, streams, silence, id=f"{provider.name}-{'streamed' if streams else 'whole'}-{silence}")
    for provider in WIRES
    for streams in (True, False)
    for silence in SILENCES
    if streams or silence != "between two events"
]


@pytest.fixture
def server(provider: Provider) -> Iterator[KitServer]:
    with provider.server(provider) as made:
        yield made


@pytest.mark.parametrize(("provider", "streams", "silence"), CASES)
def test_a_silent_provider_is_a_time_out(provider: Provider, server: KitServer, streams: bool, silence: str) -> None:
    own = server.answer

    def silent(asked: Recorded) -> Wire:
        return own(asked) if asked.path == "/api/show" else own(asked) | SILENCES[silence]

    server.answer = silent  # type: ignore[method-assign]
    server.plays(*[reply(Think("Hm."), "Hello.")] * 2)
    models = Catalogue(EnvironmentSecrets(provider.variables(server.address)))
    config = models.config(provider.handle)
    heard: list[Delta] = []
    for seconds in SECONDS:
        request = ModelRequest(config=config, system="Be kind.", messages=(Rows().user("Hi."),), timeout=seconds)
        with pytest.raises(ModelTimeout) as raised:
            models.of(config).complete(request, heard.append if streams else None)
        assert raised.value.detail.startswith(f"{provider.handle.partition('/')[0]}: ")
        if sent := [asked for asked in server.requests if asked.method == "POST"]:
            break
    assert sent
