"""How agents embed: by the deployment's default, by what they name, or not at all (API 2.2, *Embedding*)."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import HANDLE, Make, Said, Served, calls, serving_embedded
from tests.compat.reading import uploaded
from tests.support.provider_servers import ScriptedOpenAI

pytestmark = pytest.mark.deployed


@pytest.mark.manifest("agents.create.embedding")
def test_null_is_no_embedding_and_nothing_is_the_default(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    default = client.models.embeddings.list()[0].handle
    assert new_agent().embedding == default
    for said in ({"embedding": None}, {"embedding_config": None}):
        made = http.post("/v1/agents/", json={"model": HANDLE, **said}).json()
        assert (made["embedding"], made["embedding_config"]) == (None, None)


@pytest.fixture(scope="module")
def bare(provider: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that embeds nothing by default."""
    with serving_embedded(tmp_path_factory.mktemp("bare"), provider, embedding="none") as server:
        server.feed()
        yield server


@pytest.fixture(scope="module")
def sdk(bare: Served) -> Iterator[Letta]:
    with Letta(base_url=bare.url, api_key="any", max_retries=0) as made:
        yield made


@pytest.mark.manifest("agents.create.embedding")
def test_without_a_default_an_agent_has_none_as_in_v1(sdk: Letta) -> None:
    agent = sdk.agents.create(model=HANDLE, memory_blocks=[{"label": "human", "value": ""}])
    assert (agent.embedding, agent.embedding_config) == (None, None)
    assert sdk.archives.create(name="bare").embedding_config is None
    named = sdk.models.embeddings.list()
    if named:
        assert sdk.agents.update(agent.id, embedding=named[0].handle).embedding == named[0].handle


@pytest.mark.manifest("agents.create.embedding")
def test_without_an_embedding_memory_is_found_by_its_words(sdk: Letta, bare: Served, said: Said) -> None:
    agent = sdk.agents.create(model=HANDLE, tools=["archival_memory_insert", "archival_memory_search"])
    said.next(
        calls(("archival_memory_insert", {"content": "The spare key hangs behind the clock."})),
        calls(("archival_memory_search", {"query": "spare key"})),
        {"content": "Behind the clock."},
    )
    reply = sdk.agents.messages.create(agent.id, input="Where is the key?")
    assert "behind the clock" in str([one for one in reply.messages if one.message_type == "tool_return_message"][-1])
    bare.wait_until_indexed()
    assert sdk.agents.passages.search(agent.id, query="spare key").count == 1
    assert [hit.passage.embedding_config for hit in sdk.passages.search(query="spare key", agent_id=agent.id)] == [None]


@pytest.mark.manifest("agents.create.embedding")
def test_without_an_embedding_files_are_read(sdk: Letta) -> None:
    folder = sdk.folders.create(name="bare")
    assert uploaded(sdk, folder.id, "poem.md", b"# Parrots").processing_status == "completed"
