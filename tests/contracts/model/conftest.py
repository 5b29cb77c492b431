"""The adapters under the suite: one at a time, or each in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contracts.model.spoken import Spoken, spoken_anthropic, spoken_openai, spoken_responses
from tests.support.provider_servers import ScriptedAnthropic, ScriptedOpenAI
from tests.support.responses_server import ScriptedResponses


@pytest.fixture
def openai() -> Iterator[Spoken]:
    with ScriptedOpenAI() as server:
        yield spoken_openai(server)


@pytest.fixture
def anthropic() -> Iterator[Spoken]:
    with ScriptedAnthropic() as server:
        yield spoken_anthropic(server)


@pytest.fixture
def responses() -> Iterator[Spoken]:
    with ScriptedResponses() as server:
        yield spoken_responses(server)


@pytest.fixture(params=["openai", "responses"])
def any_openai(request: pytest.FixtureRequest) -> Spoken:
    """Each of OpenAI's wires in turn."""
    spoken: Spoken = request.getfixturevalue(request.param)
    return spoken


@pytest.fixture(params=["openai", "responses", "anthropic"])
def spoken(request: pytest.FixtureRequest) -> Iterator[Spoken]:
    """Each provider's adapter in turn."""
    if request.param == "openai":
        with ScriptedOpenAI() as openai_server:
            yield spoken_openai(openai_server)
    elif request.param == "responses":
        with ScriptedResponses() as responses_server:
            yield spoken_responses(responses_server)
    else:
        with ScriptedAnthropic() as anthropic_server:
            yield spoken_anthropic(anthropic_server)
