"""Endpoints that a client names in `llm_config` and `embedding_config` are reached where the operator's policy admits them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from hibernaut.local.server import LocalServer, address, listening
from hibernaut.rest.app import create_app
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.outward import AT_HOME, OutwardPolicies, outward_in
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.provider_servers import ScriptedOpenAI

NOWHERE = outward_in({"HIBERNAUT_PRIVATE_ADDRESSES": "none"}, home=True)


@contextmanager
def served(folder: Path, outward: OutwardPolicies, **providers: str) -> Iterator[httpx.Client]:
    with Embedded(EmbeddedSettings(folder, outward=outward, providers=providers)) as house:
        app = create_app(services_of(house.stores, house.host, house.engines))
        server = LocalServer(app, listener := listening("127.0.0.1", 0))
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        with httpx.Client(base_url=address(listener), timeout=60) as client:
            yield client
        server.stop()
        thread.join()


@pytest.fixture
def named() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as server:
        yield server


def asked(client: httpx.Client, endpoint: str) -> httpx.Response:
    """A message to an agent whose model and embedding model are at this endpoint, after a search of its memory."""
    model = {"model": "m", "model_endpoint_type": "openai", "model_endpoint": endpoint, "context_window": 8_000}
    embedding = {
        "embedding_endpoint_type": "openai",
        "embedding_endpoint": endpoint,
        "embedding_model": "m",
        "embedding_dim": 8,
    }
    agent = client.post("/v1/agents/", json={"llm_config": model, "embedding_config": embedding}).raise_for_status().json()["id"]
    client.post(f"/v1/agents/{agent}/archival-memory", json={"text": "a fact"}).raise_for_status()
    client.get(f"/v1/agents/{agent}/archival-memory/search", params={"query": "a fact"}).raise_for_status()
    return client.post(f"/v1/agents/{agent}/messages", json={"input": "hi"})


def test_an_endpoint_on_this_machine_that_a_client_names_is_reached_at_home(tmp_path: Path, named: ScriptedOpenAI) -> None:
    with served(tmp_path, AT_HOME) as client:
        assert asked(client, named.url).status_code == 200
    assert named.requests
    assert named.embedded


def test_an_endpoint_that_a_client_names_is_not_reached_where_the_policy_does_not_admit_it(
    tmp_path: Path, named: ScriptedOpenAI
) -> None:
    with served(tmp_path, NOWHERE) as client:
        answer = asked(client, named.url)
    assert answer.status_code >= 400
    assert "HIBERNAUT_PRIVATE_ADDRESSES" in answer.text
    assert (named.requests, named.embedded, named.listings) == ([], [], [])


def test_an_endpoint_that_the_operator_configures_is_reached_whatever_the_policy(tmp_path: Path, named: ScriptedOpenAI) -> None:
    with served(tmp_path, NOWHERE, OPENAI_BASE_URL=named.url, OPENAI_API_KEY="sk-own") as client:
        assert asked(client, named.url).status_code == 200
    assert named.requests
    assert named.embedded
