"""Providers with keys of one's own (API 3, RT 11.1), through the stable SDK's own transport: it has no methods
for these routes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from letta_client import APIStatusError, BadRequestError, ConflictError, Letta, NotFoundError

from tests.compat.conftest import Make, Served, serving_embedded
from tests.support.provider_servers import ScriptedAnthropic, ScriptedOpenAI

KEY = "sk-own-planted-1"
BASE = "/v1/providers/"
UNKNOWN = "provider-00000000-0000-4000-8000-000000000000"
REFUSED = {"status": 401, "body": {"error": {"message": f"Incorrect API key provided: {KEY}", "type": "invalid_request_error"}}}
Add = Callable[..., Any]


@pytest.fixture
def own() -> Iterator[ScriptedOpenAI]:
    """The provider that a user adds."""
    with ScriptedOpenAI(models=[{"id": "mine-1"}, {"id": "mine-2"}]) as server:
        yield server


@pytest.fixture
def add(client: Letta, own: ScriptedOpenAI) -> Iterator[Add]:
    """Adds providers, and deletes them at the end."""
    made: list[str] = []

    def added(name: str, **fields: Any) -> Any:
        body = {"name": name, "provider_type": "openai", "api_key": KEY, "base_url": own.url} | fields
        provider: Any = client.post(BASE, cast_to=object, body=body)
        made.append(provider["id"])
        return provider

    yield added
    for provider_id in made:
        try:
            client.delete(f"{BASE}{provider_id}", cast_to=object)
        except NotFoundError:
            continue


def get(client: Letta, path: str = "", **query: Any) -> Any:
    return client.get(f"{BASE}{path}", cast_to=object, options={"params": query})


def authorization(server: ScriptedOpenAI) -> list[str]:
    return [{name.lower(): value for name, value in asked.headers.items()}["authorization"] for asked in server.requests]


@pytest.mark.manifest("providers.create", "providers.retrieve")
@pytest.mark.deployed
def test_a_provider_is_added_and_its_key_is_in_no_reply(client: Letta, own: ScriptedOpenAI, add: Add) -> None:
    made = add("mine", region="", api_version="2026-01-01")
    assert (made["name"], made["provider_type"], made["provider_category"]) == ("mine", "openai", "byok")
    assert (made["base_url"], made["region"], made["api_version"]) == (own.url, None, "2026-01-01")
    assert (made["api_key"], made["access_key"], made["last_synced"]) == (None, None, None)
    assert made["id"].startswith("provider-")
    assert get(client, made["id"]) == made
    assert KEY not in str([made, get(client)])
    assert not [name for name in made if "sealed" in name or "enc" in name]
    with pytest.raises(NotFoundError):
        get(client, UNKNOWN)


@pytest.mark.manifest("providers.create.refused")
def test_a_name_that_is_taken_and_a_value_that_cannot_be_used_are_refused(client: Letta, add: Add) -> None:
    add("taken")
    with pytest.raises(ConflictError, match="taken"):
        add("taken")
    for name in ("openai", "hibernaut", "letta"):
        with pytest.raises(BadRequestError, match="base provider"):
            add(name)
    for name in ("a/b", " a", "a ", "a\nb", "\u202ea"):
        with pytest.raises(BadRequestError, match="first part of its handles"):
            add(name)
    for key in (f"{KEY}\n", f"{KEY}\r\nx: y", "sk own", "sk-ü"):
        with pytest.raises(BadRequestError, match="api_key contains a line break") as raised:
            add("other", api_key=key)
        assert key not in str(raised.value.body)
    for address in ("ftp://x.example", "example.com/v1", "https://u:p@x.example", "http://[::1", "https://x.example/?a=b", "//x"):
        with pytest.raises(BadRequestError, match="base_url"):
            add("other", base_url=address)
    with pytest.raises(BadRequestError, match="needs api_key"):
        add("other", api_key="", base_url="")
    with pytest.raises(BadRequestError, match="needs base_url"):
        add("other", provider_type="vllm", base_url="")
    with pytest.raises(BadRequestError, match="not served; choose one of anthropic"):
        add("other", provider_type="hugging-face")
    for fields in ({"provider_type": "nobody"}, {"api_key": None}, {"name": ""}, {"name": "x" * 101}):
        with pytest.raises(APIStatusError) as raised:
            add(**{"name": "other"} | fields)
        assert raised.value.status_code == 422
    assert get(client, name="other") == []


@pytest.mark.manifest("providers.list", "providers.list.base")
def test_providers_are_listed_by_page_name_and_type(client: Letta, add: Add) -> None:
    made = [add(f"listed-{number}")["id"] for number in range(3)]
    claude = add("listed-claude", provider_type="anthropic", base_url="")["id"]
    assert [one["id"] for one in get(client)] == [claude, *made[::-1]]
    assert [one["id"] for one in get(client, limit=2, order="asc", after=made[0])] == made[1:]
    assert [one["id"] for one in get(client, name="listed-1")] == [made[1]]
    assert [one["id"] for one in get(client, provider_type="anthropic")] == [claude]
    with pytest.raises(NotFoundError):
        get(client, after=UNKNOWN)


@pytest.mark.manifest("providers.handle_base")
def test_an_agent_is_found_by_v1s_own_first_part_of_its_handle(tmp_path: Path) -> None:
    with ScriptedOpenAI(models=[{"id": "qwen3"}]) as vllm:
        vllm.says(content="Hello.")
        variables = {"VLLM_API_BASE": vllm.url, "VLLM_HANDLE_BASE": "mine"}
        with serving_embedded(tmp_path / "data", vllm, more=variables) as served:
            client = Letta(base_url=served.url)
            for handle in ("mine/qwen3", "vllm/qwen3"):
                agent = client.agents.create(model=handle, memory_blocks=[])
                said = client.agents.messages.create(agent.id, messages=[{"role": "user", "content": "Hi."}]).messages
                assert (agent.model, said[-1].message_type) == ("vllm/qwen3", "assistant_message")


@pytest.mark.manifest("providers.models")
@pytest.mark.deployed
def test_an_agent_answers_by_the_model_and_the_key_of_its_own_provider(
    client: Letta, own: ScriptedOpenAI, add: Add, new_agent: Make
) -> None:
    add("my lab")
    rows = [row for row in client.models.list(provider_category=["byok"]) if row.provider_name == "my lab"]
    assert [(row.handle, row.provider_type, row.provider_category) for row in rows] == [
        ("my lab/mine-1", "openai", "byok"),
        ("my lab/mine-2", "openai", "byok"),
    ]
    assert "my lab/mine-1" in [row.handle for row in client.models.list()]
    assert "my lab/mine-1" not in [row.handle for row in client.models.list(provider_category=["base"])]
    agent = new_agent(model="my lab/mine-1")
    assert (agent.llm_config.provider_name, agent.llm_config.provider_category) == ("my lab", "byok")
    assert agent.compaction_settings.model == "my lab/mine-1"
    own.script = lambda _messages, _tools: {"content": "From the lab."}
    reply = client.agents.messages.create(agent.id, input="Who?")
    assert reply.messages[-1].content == "From the lab."
    assert authorization(own) == [f"Bearer {KEY}"]
    step = client.runs.steps.list(client.runs.list(agent_id=agent.id).items[0].id).items[0]
    step_model = (step.provider_name, step.provider_category, step.model_dump()["model_handle"])
    assert step_model == ("my lab", "byok", "my lab/mine-1")
    with pytest.raises(NotFoundError, match=r"must be one of .'my lab/mine-1', 'my lab/mine-2'"):
        new_agent(model="my lab/nothing")


@pytest.mark.manifest("providers.models")
def test_an_own_provider_of_another_wire_is_a_fallback_too(client: Letta, add: Add, own: ScriptedOpenAI, new_agent: Make) -> None:
    with ScriptedAnthropic(lambda _messages, _tools: {"content": "From Claude."}, models=[{"id": "claude-x"}]) as claude:
        add("my lab")
        add("my claude", provider_type="anthropic", base_url=claude.url)
        agent = new_agent(model="my lab/mine-1", extra_body={"fallback_models": ["my claude/claude-x"]})
        own.script = lambda _messages, _tools: {"status": 402, "body": {"error": {"message": "Pay."}}}
        assert client.agents.messages.create(agent.id, input="hi").messages[-1].content == "From Claude."
        assert {name.lower(): value for name, value in claude.requests[0].headers.items()}["x-api-key"] == KEY


@pytest.mark.manifest("providers.update")
def test_a_changed_key_is_used_by_the_next_message(client: Letta, own: ScriptedOpenAI, add: Add, new_agent: Make) -> None:
    provider = add("changing")
    agent = new_agent(model="changing/mine-1")
    own.script = lambda _messages, _tools: {"content": "Hi."}
    client.agents.messages.create(agent.id, input="one")
    after: Any = client.patch(f"{BASE}{provider['id']}", cast_to=object, body={"api_key": "sk-own-2", "api_version": "v2"})
    assert (after["name"], after["base_url"], after["api_version"], after["api_key"]) == ("changing", own.url, "v2", None)
    client.agents.messages.create(agent.id, input="two")
    assert authorization(own) == [f"Bearer {KEY}", "Bearer sk-own-2"]
    with pytest.raises(APIStatusError) as raised:
        client.patch(f"{BASE}{provider['id']}", cast_to=object, body={"base_url": "https://elsewhere.example/v1"})
    assert raised.value.status_code == 422, "an address without its key would send the stored key elsewhere"


@pytest.mark.manifest("providers.delete")
def test_a_deleted_provider_is_named_by_the_failure_of_its_agents(
    client: Letta, own: ScriptedOpenAI, add: Add, new_agent: Make
) -> None:
    provider = add("gone")
    agent = new_agent(model="gone/mine-1")
    assert client.delete(f"{BASE}{provider['id']}", cast_to=object) == {
        "message": f"Provider id={provider['id']} successfully deleted"
    }
    with pytest.raises(NotFoundError):
        client.delete(f"{BASE}{provider['id']}", cast_to=object)
    with pytest.raises(NotFoundError, match=r"gone: this provider does not exist any more; add it again"):
        client.agents.messages.create(agent.id, input="Remember me.")
    assert [one.content for one in client.agents.messages.list(agent.id).items][-1] == "Remember me."
    run = client.runs.list(agent_id=agent.id).items[0]
    assert (run.status, run.stop_reason) == ("failed", "llm_api_error")
    assert own.requests == []
    add("gone", api_key="sk-own-3")
    own.script = lambda _messages, _tools: {"content": "Back again."}
    assert client.agents.messages.create(agent.id, input="And now?").messages[-1].content == "Back again."


@pytest.mark.manifest("providers.check", "providers.check_one")
@pytest.mark.deployed
def test_a_key_is_tried_before_and_after_it_is_stored(client: Letta, own: ScriptedOpenAI, add: Add) -> None:
    body = {"provider_type": "openai", "api_key": KEY, "base_url": own.url}
    valid = {"message": "Valid api key for provider_type=openai"}
    assert client.post(f"{BASE}check", cast_to=object, body=body) == valid
    path = f"{BASE}{add('checked')['id']}/check"
    assert client.post(path, cast_to=object) == valid
    own.listing_says = REFUSED
    for asked, given in ((f"{BASE}check", body), (path, None)):
        with pytest.raises(APIStatusError) as raised:
            client.post(asked, cast_to=object, body=given)
        assert raised.value.status_code == 401
        assert raised.value.body["error"]["type"] == "llm_authentication"  # type: ignore[index]
        assert KEY not in str(raised.value.body)
        assert "correct its api_key" in str(raised.value.body)
        assert "OPENAI_API_KEY" not in str(raised.value.body), "a variable of the deployment"


@pytest.mark.manifest("providers.check")
@pytest.mark.parametrize(
    ("says", "status", "text"),
    [
        ({"status": 402, "body": {"error": {"message": "Pay."}}}, 402, "credit"),
        ({"status": 429, "body": {}}, 429, "status 429"),
        ({"status": 503, "body": {}}, 503, "status 503"),
        ({"status": 200, "body": b"<html>", "headers": {"content-type": "text/html"}}, 500, "web page instead of JSON"),
        ({"raw": b"no json"}, 500, "not JSON"),
    ],
)
def test_what_a_provider_answers_to_a_check_is_said(
    client: Letta, own: ScriptedOpenAI, says: dict[str, Any], status: int, text: str
) -> None:
    own.listing_says = says
    with pytest.raises(APIStatusError, match=text) as raised:
        client.post(f"{BASE}check", cast_to=object, body={"provider_type": "openai", "api_key": KEY, "base_url": own.url})
    assert raised.value.status_code == status
    assert KEY not in str(raised.value.body)


@pytest.mark.manifest("providers.refresh")
def test_a_refresh_lists_the_models_anew(client: Letta, own: ScriptedOpenAI, add: Add, new_agent: Make) -> None:
    provider = add("fresh")

    def listed() -> list[str]:
        return [row.name for row in client.models.list(provider_name="fresh")]

    assert listed() == ["mine-1", "mine-2"]
    own.models = [{"id": f"new-{number:05}"} for number in range(10_000)]
    assert listed() == ["mine-1", "mine-2"], "lists are kept for minutes"
    after: Any = client.patch(f"{BASE}{provider['id']}/refresh", cast_to=object)
    assert after["last_synced"] is not None
    assert len(listed()) == 1_000, "the list is limited; the handles are not"
    assert new_agent(model="fresh/new-09999").llm_config.model == "new-09999"
    with pytest.raises(NotFoundError):
        client.patch(f"{BASE}{UNKNOWN}/refresh", cast_to=object)


@pytest.mark.manifest("providers.embeddings")
@pytest.mark.deployed
def test_memory_is_embedded_by_a_model_of_an_own_provider(client: Letta, add: Add, fed: Served) -> None:
    with ScriptedOpenAI(models=[{"id": "text-embedding-3-small"}]) as embeds:
        add("embedding-lab", base_url=embeds.url)
        handle = "embedding-lab/text-embedding-3-small"
        [row] = [row for row in client.models.embeddings.list() if row.handle == handle]
        assert (row.provider_name, row.provider_type, row.embedding_dim) == ("embedding-lab", "openai", 1536)
        archive = client.archives.create(name="own", embedding=handle)
        folder = client.folders.create(name="own embeddings", embedding=handle)
        for config in (archive.embedding_config, folder.embedding_config):
            assert config is not None
            assert (config.handle, config.embedding_dim, config.embedding_endpoint) == (handle, 1536, None)
        client.archives.passages.create(archive.id, text="The spare key hangs behind the clock.")
        fed.wait_until_indexed()
        keys = {{name.lower(): value for name, value in asked.headers.items()}["authorization"] for asked in embeds.embedded}
        assert keys <= {f"Bearer {KEY}"}
        [hit] = client.passages.search(query="Where is the spare key?", archive_id=archive.id)
        assert hit.passage.text == "The spare key hangs behind the clock."
        client.folders.delete(folder.id)
        client.archives.delete(archive.id)
    with pytest.raises(NotFoundError, match="Embedding handle nobody/any not found"):
        client.archives.create(name="none", embedding="nobody/any")
