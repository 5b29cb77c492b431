"""Memory that is embedded by a key of a tenant's own: whose key, which index, and what happens while the provider does not
serve.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hibernaut.adapters.door import Door
from hibernaut.adapters.embedder.own_embedder import own_embedder
from hibernaut.adapters.model.own_providers import OwnProviders
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.ports.memory.embedder import EmbedderFailed
from hibernaut.ports.model import ProviderAccess
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.agents.agent import CreateAgentRequest, UpdateAgent
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.memory.folder import CreateFolder
from hibernaut.schemas.memory.passage import CreateArchive, CreatePassage
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from hibernaut.schemas.models.provider import CreateProvider, ProviderKeys
from hibernaut.services.models.own_embedders import OwnEmbedder
from hibernaut.services.models.own_models import OwnModels
from hibernaut.services.search.candidates import EMBEDDED_TAIL
from hibernaut.services.search.hybrid_search import SearchResult, SearchScope
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.hashing_embedder import OneEmbedder
from tests.support.provider_http import vectors
from tests.support.provider_servers import ScriptedOpenAI

KEY, OTHER = "sk-own-planted-1", "sk-own-planted-2"
KNOWN, UNKNOWN = "bge-m3", "lab-embedder"


@dataclass
class Lab:
    """A server whose index is written when a test says so."""

    house: Embedded

    def of(self, tenant: str) -> Services:
        return services_of(self.house.stores, self.house.host, self.house.engines).of(tenant)

    def index(self) -> None:
        assert self.house.index_worker.drain()

    def ask_again(self, tenant: str = "default") -> None:
        self.house.index_worker._indexing.of(tenant).ask_again(going=lambda: True)

    def held(self, tenant: str = "default") -> set[tuple[str, bool]]:
        """The spaces of the tenant's passages, and whether they have vectors."""
        index = self.house._index
        return {(space, one.embedded) for space in index.spaces() for one in index.states(space, tenant)}

    def refused(self, tenant: str = "default") -> int:
        return len(self.house.stores.of(tenant).search_outbox.to_ask_again(100))

    def found(self, archive: str, query: str, tenant: str = "default") -> SearchResult[Any]:
        return self.house.engines.of(tenant).search.passages(SearchScope("passage", (archive,)), query)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    house = Embedded(EmbeddedSettings(data=tmp_path), EmbeddedOverrides(embedders=OneEmbedder(defaults=False)))
    yield Lab(house)
    house.close()


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI(models=[{"id": KNOWN}, {"id": UNKNOWN}, {"id": "chat"}]) as made:
        made.embeds = of_size(16)
        yield made


def of_size(size: int) -> Any:
    """Vectors of this size, and those of a known model as it makes them."""
    return lambda body: vectors(body | {"dimensions": 1024 if body["model"] == KNOWN else size})


def add(services: Services, server: ScriptedOpenAI, name: str = "mine", key: str = KEY, kind: str = "vllm") -> str:
    body = {"name": name, "provider_type": kind, "api_key": key, "base_url": server.url}
    return services.providers.create(CreateProvider.model_validate(body)).id


def config(dimension: int = 16, model: str = UNKNOWN, name: str = "mine") -> EmbeddingConfig:
    return EmbeddingConfig(
        embedding_endpoint_type="vllm", embedding_model=model, embedding_dim=dimension, handle=f"{name}/{model}"
    )


def archive(services: Services, **fields: Any) -> str:
    return services.archives.create(CreateArchive.model_validate({"name": "notes", **fields})).id


def remember(services: Services, archive_id: str, text: str) -> None:
    services.passages.create(archive_id, [CreatePassage(text=text)])


def keys_of(server: ScriptedOpenAI) -> list[str]:
    return [{name.lower(): value for name, value in asked.headers.items()}["authorization"] for asked in server.embedded]


def test_a_model_of_an_own_provider_is_listed_and_named_by_whatever_embeds(lab: Lab, server: ScriptedOpenAI) -> None:
    ours = lab.of("default")
    add(ours, server)
    assert f"mine/{KNOWN}" in [row.handle for row in ours.models.all_embeddings()]
    agent = ours.agents.creation.create(CreateAgentRequest(model="hibernaut/demo", embedding=f"mine/{KNOWN}"))
    bare = ours.agents.creation.create(CreateAgentRequest(model="hibernaut/demo"))
    changed = ours.agents.updates.update(bare.id, UpdateAgent(embedding=f"mine/{KNOWN}"))
    folder = ours.folders.create(CreateFolder(name="papers", embedding=f"mine/{KNOWN}"))
    made = ours.archives.retrieve(archive(ours, embedding=f"mine/{KNOWN}"))
    for named in (agent, changed, folder, made):
        found = named.embedding_config
        assert found is not None
        assert (found.handle, found.embedding_dim, found.embedding_endpoint) == (f"mine/{KNOWN}", 1024, None)
    with pytest.raises(NotFound, match=f"mine/{UNKNOWN} not found.*embedding_config with its embedding_dim"):
        archive(ours, embedding=f"mine/{UNKNOWN}")


@pytest.mark.parametrize(("model", "size"), [(KNOWN, 1024), (UNKNOWN, 16)])
def test_memory_is_embedded_and_found_with_the_key_of_its_owner(lab: Lab, server: ScriptedOpenAI, model: str, size: int) -> None:
    ours = lab.of("default")
    add(ours, server)
    notes = archive(ours, embedding_config=config(size, model))
    remember(ours, notes, "The spare key hangs behind the clock.")
    lab.index()
    assert {embedded for _, embedded in lab.held()} == {True}
    assert not lab.found(notes, "where is the key").words_only
    assert set(keys_of(server)) == {f"Bearer {KEY}"}
    asked = len(server.embedded)
    lab.found(notes, "where is the key")
    assert len(server.embedded) == asked, "a repeated search asks nobody"


def test_the_provider_of_another_tenant_is_never_asked(lab: Lab, server: ScriptedOpenAI) -> None:
    ours, theirs = lab.of("ours"), lab.of("theirs")
    add(theirs, server, key=OTHER)
    with pytest.raises(NotFound):
        archive(ours, embedding=f"mine/{KNOWN}")
    notes = archive(ours, embedding_config=config())
    remember(ours, notes, "ours")
    lab.index()
    assert (server.embedded, lab.refused("ours")) == ([], 1)
    add(ours, server)
    lab.ask_again("ours")
    assert (keys_of(server), lab.refused("ours")) == ([f"Bearer {KEY}"], 0)


@pytest.mark.parametrize("other", [16, 24])
def test_two_tenants_with_equal_names_share_no_space_of_an_unknown_model(lab: Lab, server: ScriptedOpenAI, other: int) -> None:
    """An index has vectors of one dimension: names alone, which anyone chooses, would break the one that comes second."""
    for tenant, size in (("ours", 16), ("theirs", other)):
        services = lab.of(tenant)
        server.embeds = of_size(size)
        add(services, server)
        notes = archive(services, embedding_config=config(size))
        remember(services, notes, f"a note of {size}")
        lab.index()
        assert not lab.found(notes, "note", tenant).words_only
    assert {embedded for tenant in ("ours", "theirs") for _, embedded in lab.held(tenant)} == {True}
    spaces = [{space for space, _ in lab.held(tenant)} for tenant in ("ours", "theirs")]
    assert spaces[0].isdisjoint(spaces[1])
    assert not any("mine" in space or "ours" in space for space in spaces[0] | spaces[1]), "an index's name tells nobody's names"


def test_a_deleted_provider_leaves_memory_to_its_words_until_it_is_added_again(
    lab: Lab, server: ScriptedOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    ours = lab.of("default")
    provider_id = add(ours, server)
    notes = archive(ours, embedding_config=config())
    remember(ours, notes, "The spare key hangs behind the clock.")
    lab.index()
    ours.providers.delete(provider_id)
    remember(ours, notes, "The lamp stands on the table.")
    lab.index()
    said = [record for record in caplog.records if record.message.startswith("embedding refused")]
    gone = f"mine/{UNKNOWN}: this provider does not exist any more; add it again (POST /v1/providers/), or create an archive"
    assert [str(getattr(record, "reason", "")).startswith(gone) for record in said] == [True]
    for query in ("spare key", "lamp"):
        found = lab.found(notes, query)
        assert (found.words_only, len(found.hits), found.incomplete) == (True, 1, False)
    add(ours, server, key=OTHER)
    lab.ask_again()
    assert ({embedded for _, embedded in lab.held()}, lab.refused()) == ({True}, 0)
    assert not lab.found(notes, "lamp").words_only


def test_each_search_embeds_others_of_what_waits(lab: Lab, server: ScriptedOpenAI) -> None:
    ours = lab.of("default")
    add(ours, server)
    notes = archive(ours, embedding_config=config())
    texts = [f"{number} ".ljust(1_000, "x") for number in range(EMBEDDED_TAIL + 4)]
    for text in texts:
        remember(ours, notes, text)
    embedded = []
    for query in ("lamp", "clock"):
        lab.found(notes, query)
        embedded.append({text for asked in server.embedded for text in asked.body["input"]} & set(texts))
    assert [len(each) for each in embedded] == [EMBEDDED_TAIL, EMBEDDED_TAIL + 4]


def test_of_a_deleted_provider_no_vector_is_known(lab: Lab, server: ScriptedOpenAI) -> None:
    provider_id = add(lab.of("default"), server)
    connections = OwnProviders(EnvironmentSecrets({}), embedder=own_embedder)
    own = OwnModels(lab.house.stores, lab.house.cipher, connections)
    embedder = own.embedders("default", OneEmbedder(defaults=False)).of(config())
    assert embedder is not None
    [vector] = embedder.embed(["one"])
    assert embedder.known(["one", "two"]) == [vector, None]
    lab.of("default").providers.delete(provider_id)
    assert embedder.known(["one"]) == [None]


def test_a_changed_key_is_used_by_the_next_call(lab: Lab, server: ScriptedOpenAI) -> None:
    ours = lab.of("default")
    provider_id = add(ours, server)
    notes = archive(ours, embedding_config=config())
    for key, text in ((KEY, "one"), (OTHER, "two")):
        ours.providers.update(provider_id, ProviderKeys(api_key=key))
        remember(ours, notes, text)
        lab.index()
    assert list(dict.fromkeys(keys_of(server))) == [f"Bearer {KEY}", f"Bearer {OTHER}"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"status": 401, "body": {"error": f"wrong key {KEY}"}}, r"refused with status 401; correct its api_key .*/v1/providers"),
        ({"status": 503}, "refused with status 503"),
        (
            {"status": 200, "body": b"<!doctype html><title>Welcome</title>", "headers": {"content-type": "text/html"}},
            "answers with a web page instead of JSON; correct the provider's address",
        ),
        (
            None,
            "24 dimensions instead of 16; create an archive, folder or agent with an embedding_config whose embedding_dim is 24",
        ),
    ],
    ids=["wrong key", "down", "a web page", "another dimension"],
)
def test_what_a_provider_does_wrong_is_said_once_and_holds_nothing_up(
    lab: Lab, server: ScriptedOpenAI, caplog: pytest.LogCaptureFixture, answer: Any, reason: str
) -> None:
    ours = lab.of("default")
    add(ours, server)
    notes = archive(ours, embedding_config=config())
    server.embeds = of_size(24) if answer is None else lambda _: answer
    for text in ("The spare key hangs behind the clock.", "The lamp stands on the table."):
        remember(ours, notes, text)
        lab.index()
    [record] = [record for record in caplog.records if record.message.startswith("embedding refused")]
    said = str(getattr(record, "reason", ""))
    assert said.startswith(f"mine/{UNKNOWN}: ")
    assert re.search(reason, said)
    assert KEY not in said
    assert {embedded for _, embedded in lab.held()} == {False}
    assert [hit.record.text for hit in lab.found(notes, "lamp").hits] == ["The lamp stands on the table."]
    assert lab.refused() == 2, "they are embedded when the provider serves again"


def test_what_cannot_be_embedded_while_the_key_is_out_of_reach_is_embedded_later(server: ScriptedOpenAI, tmp_path: Path) -> None:
    with Embedded(EmbeddedSettings(data=tmp_path)) as house:
        add(Lab(house).of("default"), server)
    (tmp_path / "secrets.key").unlink()
    with Embedded(EmbeddedSettings(data=tmp_path)) as house:
        own = Lab(house).of("default").providers._own
        with pytest.raises(EmbedderFailed) as failed:
            OwnEmbedder("default", "mine", config(), own).embed(["The lamp stands on the table."])
    assert failed.value.retryable


def test_a_server_that_does_not_answer_is_left_alone_for_a_while(server: ScriptedOpenAI) -> None:
    now = [0.0]
    access = ProviderAccess("mine", "vllm", KEY, server.url)
    embedder = OwnProviders(EnvironmentSecrets({}), embedder=own_embedder, now=lambda: now[0]).connect(access).embedder(config())
    server.embeds = lambda _: {"status": 503}
    for moment in (0.0, 29.0, 31.0):
        now[0] = moment
        with pytest.raises(EmbedderFailed, match="503"):
            embedder.embed(["one"])
    assert len(server.embedded) == 2
    server.embeds = of_size(16)
    now[0] = 62.0
    assert len(embedder.embed(["one"])[0]) == 16


def test_an_address_in_the_network_of_the_server_is_not_reached_on_aws(server: ScriptedOpenAI) -> None:
    """The name is public in form; what it resolves to is this machine."""
    access = ProviderAccess("mine", "vllm", KEY, server.url.replace("http://127.0.0.1", "https://localhost"))
    embedder = OwnProviders(EnvironmentSecrets({}), embedder=own_embedder, door=Door()).connect(access).embedder(config())
    with pytest.raises(EmbedderFailed, match="no connection"):
        embedder.embed(["one"])
    assert server.connections == 0


def test_a_provider_without_an_embedding_route_lists_none_and_says_so(lab: Lab, server: ScriptedOpenAI) -> None:
    ours = lab.of("default")
    add(ours, server, kind="groq")
    assert not any(row.provider_name == "mine" for row in ours.models.all_embeddings())
    notes = archive(ours, embedding_config=config())
    remember(ours, notes, "a note")
    lab.index()
    assert (lab.refused(), server.embedded) == (1, [])


def test_a_provider_of_the_deployment_with_the_same_name_does_not_take_over(tmp_path: Path, server: ScriptedOpenAI) -> None:
    """An archive that was made with a key of its own keeps it, when the deployment gets a provider of that name later."""
    with ScriptedOpenAI(models=[{"id": KNOWN}]) as theirs:
        for providers in ({}, {"VLLM_API_BASE": theirs.url, "VLLM_API_KEY": "sk-deployment"}):
            house = Embedded(EmbeddedSettings(data=tmp_path, providers=providers, default_embedding="none"))
            lab = Lab(house)
            ours = lab.of("default")
            if not providers:
                add(ours, server, name="vllm")
                notes = archive(ours, embedding=f"vllm/{KNOWN}")
            remember(ours, notes, "a note")
            lab.index()
            house.close()
        assert theirs.embedded == []
    assert set(keys_of(server)) == {f"Bearer {KEY}"}
    assert len(server.embedded) >= 2
