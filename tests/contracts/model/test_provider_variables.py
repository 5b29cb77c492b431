"""Which variables configure which provider, at which address, and the handles of its models."""

from __future__ import annotations

import pytest

from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.dialects import (
    AZURE,
    DIALECTS,
    GEMINI,
    OLLAMA,
    OPENROUTER,
    SGLANG,
    VLLM,
    Dialect,
    dialect_at,
)
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.schemas.errors import NotFound
from hibernaut.wiring.configuration.provider_variables import PROVIDER_NAMES
from tests.contracts.model.spoken import Spoken
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.rows import Rows


def test_names_and_variables_are_unambiguous() -> None:
    names = [name for dialect in DIALECTS for name in (dialect.name, *dialect.aliases)]
    variables = [name for dialect in DIALECTS for name in (dialect.key, dialect.address)]
    assert len(set(names)) == len(names)
    assert len(set(variables)) == len(variables)
    assert set(variables) <= set(PROVIDER_NAMES)


def test_providers_live_side_by_side_each_with_its_own_key_and_address() -> None:
    with ScriptedOpenAI(models=[{"id": "one"}]) as first, ScriptedOpenAI(models=[{"id": "two"}]) as second:
        variables = {
            "OPENAI_API_KEY": "sk-first",
            "OPENAI_BASE_URL": first.url,
            "GROQ_API_KEY": "sk-second",
            "GROQ_BASE_URL": second.url,
        }
        catalogue = Catalogue(EnvironmentSecrets(variables))
        assert [row.handle for row in catalogue.list()] == ["openai/one", "hibernaut/demo", "groq/two"]
        for handle in ("openai/one", "groq/two"):
            config = catalogue.config(handle)
            catalogue.of(config).complete(
                Spoken("openai", catalogue.of(config), first).request(Rows().user("hi"), model=config.model)
            )
        assert [each.headers["authorization"] for each in first.requests + first.listings] == ["Bearer sk-first"] * 3
        assert [each.headers["authorization"] for each in second.requests + second.listings] == ["Bearer sk-second"] * 2


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each is not GEMINI], ids=lambda each: each.name)
def test_a_provider_is_there_by_its_own_variables_and_its_rows_say_what_v1_says(dialect: Dialect) -> None:
    with ScriptedOpenAI(models=[{"id": "some/model"}]) as server:
        catalogue = Catalogue(EnvironmentSecrets({dialect.key: "sk-own", dialect.address: server.url}))
        config = catalogue.config(f"{dialect.name}/some/model")
        assert (config.model, config.provider_name, config.model_endpoint_type) == ("some/model", dialect.name, dialect.kind)
        assert config.model_endpoint == server.url
        rows = [row for row in catalogue.list() if row.provider_name == dialect.name]
        assert {row.provider_type for row in rows} <= {dialect.name}


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each.url], ids=lambda each: each.name)
def test_a_key_alone_configures_a_provider_that_has_an_address(dialect: Dialect) -> None:
    assert Catalogue(EnvironmentSecrets({dialect.key: "sk-own"})).providers()[dialect.name] == dialect.url
    assert dialect_at(dialect.url or "") is dialect


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if not each.url], ids=lambda each: each.name)
def test_a_key_without_an_address_configures_no_server_of_ones_own(dialect: Dialect) -> None:
    assert list(Catalogue(EnvironmentSecrets({dialect.key: "sk-own"})).providers()) == ["hibernaut"]


@pytest.mark.parametrize(
    ("dialect", "address", "url"),
    [
        (OLLAMA, "http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        (OLLAMA, "http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"),
        (VLLM, "http://gpu:8000/inference", "http://gpu:8000/inference"),
        (AZURE, "https://me.openai.azure.com/", "https://me.openai.azure.com/openai/v1"),
        (GEMINI, "https://generativelanguage.googleapis.com/", GEMINI.url),
        (GEMINI, "http://proxy/v1beta/openai/", "http://proxy/v1beta/openai"),
    ],
)
def test_an_address_without_a_path_is_completed(dialect: Dialect, address: str, url: str) -> None:
    assert dialect.at(address) == url


@pytest.mark.parametrize("dialect", [VLLM, SGLANG, OPENROUTER], ids=lambda each: each.name)
def test_v1s_variable_for_the_first_part_of_handles_is_read(dialect: Dialect) -> None:
    with ScriptedOpenAI(models=[{"id": "some/model"}]) as server:
        variables = {dialect.address: server.url, dialect.key: "k", dialect.handle_base: "mine/", "GROQ_API_KEY": "k"}
        catalogue = Catalogue(EnvironmentSecrets(variables))
        assert catalogue.config("mine/some/model").handle == f"{dialect.name}/some/model"
        assert catalogue.config(f"{dialect.name}/some/model").handle == f"{dialect.name}/some/model"
        other = Catalogue(EnvironmentSecrets(variables | {dialect.handle_base: "groq"}))
        assert other.config("groq/llama").provider_name == "groq", "it takes no provider's own name"


def test_v1s_older_name_of_openais_address_counts_if_the_newer_one_is_not_set() -> None:
    older = {"OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://127.0.0.1:9/older"}
    assert Catalogue(EnvironmentSecrets(older)).providers()["openai"] == "http://127.0.0.1:9/older"
    both = older | {"OPENAI_BASE_URL": "http://127.0.0.1:9/newer"}
    assert Catalogue(EnvironmentSecrets(both)).providers()["openai"] == "http://127.0.0.1:9/newer"


def test_v1s_handle_of_a_proxy_is_found() -> None:
    with ScriptedOpenAI(models=[{"id": "m"}]) as server:
        catalogue = Catalogue(EnvironmentSecrets({"OPENAI_BASE_URL": server.url}))
        assert catalogue.config("openai-proxy/m").handle == "openai/m"


@pytest.mark.parametrize(
    ("handle", "hint"),
    [("groq/m", "; set GROQ_API_KEY"), ("ollama/m", "; set OLLAMA_BASE_URL"), ("anthropic/m", "; set ANTHROPIC_API_KEY")],
)
def test_a_provider_that_is_not_configured_is_named_with_its_variable(handle: str, hint: str) -> None:
    with pytest.raises(NotFound) as raised:
        Catalogue(EnvironmentSecrets({})).config(handle)
    assert raised.value.detail == f"NOT_FOUND: Handle {handle} not found, must be one of ['hibernaut/demo']{hint}"
