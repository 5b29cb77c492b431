"""The catalogue: which providers there are, which handles resolve, and where a key goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, get_args

import pytest

from hibernaut.adapters.addresses import THIS_MACHINE
from hibernaut.adapters.door import Door
from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.default_model import PREFERRED
from hibernaut.adapters.model.demo.demo import DemoModel
from hibernaut.adapters.model.openai import chat_completions
from hibernaut.adapters.model.openai.responses_models import model_options
from hibernaut.domain.models.anthropic_models import traits_of
from hibernaut.domain.models.embedding_models import description
from hibernaut.domain.models.model_settings import CHEAP_MODELS
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, LLMConfig
from hibernaut.schemas.models.model_call import CacheLife, ModelRequest
from tests.contracts.model.spoken import Spoken
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.rows import Rows


class Kept:
    """Secrets in a dict."""

    def __init__(self, **kept: str) -> None:
        self.kept = kept

    def get(self, name: str) -> str | None:
        return self.kept.get(name)


class Offered:
    """Embedding models that exist without a provider's list."""

    def __init__(self, rows: list[EmbeddingModelDescription], default: str | None) -> None:
        self.rows, self.default = rows, default

    def descriptions(self) -> list[EmbeddingModelDescription]:
        return self.rows

    def default_handle(self) -> str | None:
        return self.default


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI(models=[{"id": "gpt-4o-mini"}, {"id": "gpt-9"}]) as scripted:
        yield scripted


def over(server: ScriptedOpenAI, **kept: str) -> Kept:
    return Kept(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="sk-own", **kept)


def foreign(endpoint: str, kind: str = "openai", **fields: str) -> LLMConfig:
    return LLMConfig(model="m", model_endpoint_type=kind, model_endpoint=endpoint, context_window=9, **fields)


def test_without_keys_there_are_the_servers_own_models_and_they_are_the_defaults() -> None:
    catalogue = Catalogue(Kept())
    assert [row.handle for row in catalogue.list()] == [catalogue.default_handle()] == ["hibernaut/demo"]
    assert (catalogue.list_embeddings(), catalogue.default_embedding_handle()) == ([], None)
    assert isinstance(catalogue.of(catalogue.config("hibernaut/demo")), DemoModel)
    assert list(catalogue.providers()) == ["hibernaut"]


def test_a_handle_becomes_the_configuration_of_its_model(server: ScriptedOpenAI) -> None:
    config = Catalogue(over(server)).config("openai/gpt-4o-mini")
    assert (config.handle, config.model, config.provider_name) == ("openai/gpt-4o-mini", "gpt-4o-mini", "openai")
    assert (config.context_window, config.max_tokens, config.model_endpoint) == (128_000, 16384, server.url)


def test_an_agent_sees_less_of_a_wide_window_than_the_list_names(server: ScriptedOpenAI) -> None:
    server.models = [{"id": "wide", "context_length": 1_000_000}]
    catalogue = Catalogue(over(server))
    [row] = [row for row in catalogue.list() if row.provider_name == "openai"]
    assert (row.context_window, row.max_context_window) == (1_000_000, 1_000_000)
    assert catalogue.config("openai/wide").context_window == 128_000


def test_the_addresses_of_the_providers_are_built_once(server: ScriptedOpenAI) -> None:
    """Each model call asks whether a provider is the deployment's."""
    models = Catalogue(over(server))
    assert models.providers() is models.providers()
    assert set(models.providers()) == {"openai", "hibernaut"}


@pytest.mark.parametrize("handle", ["gpt-4o", "/gpt-4o", "openai/", ""])
def test_a_handle_without_its_two_halves_is_refused(handle: str) -> None:
    with pytest.raises(InvalidArgument, match="should be in the format provider/model-name"):
        Catalogue(Kept()).config(handle)


@pytest.mark.parametrize("handle", ["openai/gpt-1", "nobody/gpt-4o-mini", "hibernaut/dream"])
def test_an_unknown_handle_is_answered_with_those_that_exist(server: ScriptedOpenAI, handle: str) -> None:
    with pytest.raises(NotFound) as raised:
        Catalogue(over(server)).config(handle)
    listed = "['openai/gpt-4o-mini', 'hibernaut/demo', 'openai/gpt-9']"
    assert raised.value.detail == f"NOT_FOUND: Handle {handle} not found, must be one of {listed}"


def test_while_the_provider_is_away_its_models_are_taken_at_their_word(server: ScriptedOpenAI) -> None:
    server.close()
    catalogue = Catalogue(over(server))
    known, unknown = catalogue.config("openai/gpt-4o-mini"), catalogue.config("openai/some/model")
    assert (known.context_window, unknown.context_window, unknown.model) == (128_000, 32_000, "some/model")
    assert [row.handle for row in catalogue.list()] == ["hibernaut/demo"]


def test_the_default_can_be_set_and_stands_first(server: ScriptedOpenAI) -> None:
    catalogue = Catalogue(over(server), default_model="openai/gpt-9")
    assert catalogue.default_handle() == "openai/gpt-9"
    assert [row.handle for row in catalogue.list()][:2] == ["openai/gpt-9", "hibernaut/demo"]


@pytest.mark.parametrize(
    ("listed", "default"),
    [
        (["gpt-9", "gpt-5.4-mini", "gpt-6.1-terra"], "openai/gpt-6.1-terra"),
        (["gpt-9", "gpt-5.4"], "openai/gpt-5.4"),
        (["qwen3:8b", "llama3.3"], "openai/llama3.3"),
    ],
)
def test_with_a_provider_the_default_is_a_model_that_it_lists(listed: list[str], default: str) -> None:
    with ScriptedOpenAI(models=[{"id": name} for name in listed]) as server:
        catalogue = Catalogue(over(server))
        assert catalogue.default_handle() == default
        assert catalogue.list()[0].handle == default


@pytest.mark.parametrize(
    ("key", "provider"), [("OPENAI_API_KEY", "openai"), ("ANTHROPIC_API_KEY", "anthropic"), ("GEMINI_API_KEY", "google_ai")]
)
def test_with_a_key_alone_the_default_is_the_providers_first_choice(key: str, provider: str) -> None:
    assert Catalogue(Kept(**{key: "sk-own"})).default_handle() == f"{provider}/{PREFERRED[provider][0]}"


def test_the_default_comes_from_the_first_provider_that_lists_models(server: ScriptedOpenAI) -> None:
    server.close()
    assert Catalogue(over(server, ANTHROPIC_API_KEY="sk-own")).default_handle() == f"anthropic/{PREFERRED['anthropic'][0]}"


def test_a_server_that_is_away_is_named_instead_of_a_demo_in_its_place(server: ScriptedOpenAI) -> None:
    server.close()
    catalogue = Catalogue(over(server))
    with pytest.raises(InvalidArgument, match=rf"{server.url} lists none.*HIBERNAUT_DEFAULT_MODEL"):
        catalogue.default_handle()
    assert Catalogue(over(server), default_model="openai/mine").default_handle() == "openai/mine"


@pytest.mark.parametrize("name", PREFERRED["openai"])
def test_openais_preferred_models_serve_tools_on_both_wires(name: str) -> None:
    assert "none" in model_options(name).efforts


def test_the_first_choice_of_anthropic_can_be_made_to_call_a_tool() -> None:
    traits = traits_of(PREFERRED["anthropic"][0])
    assert traits.forced
    assert {"adaptive", "disabled"} <= traits.thinking


def test_the_preferred_models_exist_and_are_not_about_to_end() -> None:
    from anthropic.resources.messages.messages import DEPRECATED_MODELS
    from anthropic.types import model_param
    from openai.types.shared import chat_model

    ending = ending_models()
    own = {CHEAP_MODELS["openai"].partition("/")[2], *PREFERRED["openai"]}
    assert own <= set(get_args(chat_model.ChatModel)) - ending.keys()
    exist = {name for part in get_args(model_param.ModelParam) for name in get_args(part)}
    assert set(PREFERRED["anthropic"]) <= exist - set(DEPRECATED_MODELS)


def ending_models() -> dict[str, date]:
    """OpenAI's models with the date of their end, as the locked SDK tells."""
    from openai.types.shared import chat_model

    source = Path(chat_model.__file__).read_text(encoding="utf-8").partition("Deprecated values:")[2]
    ending = {}
    for entry in re.split(
        r"^- ", " ".join(source.splitlines()).replace("  - ", "\n- ").replace(' - "', '\n- "'), flags=re.MULTILINE
    ):
        if day := re.search(r"shutdown\s+date:\s+(\d{4}-\d\d-\d\d)", entry):
            ending |= {name: date.fromisoformat(day[1]) for name in re.findall(r'"([^"]+)"', entry)}
    return ending


def test_the_sdk_tells_when_models_end() -> None:
    ending = ending_models()
    assert ending["gpt-5-mini"] == ending["o3"] == date(2026, 12, 11)
    assert ending["gpt-4o"] == date(2027, 1, 14)


def test_no_page_names_a_model_of_openai_that_ends() -> None:
    root = Path(__file__).parents[3]
    pages = [root / "README.md", *(root / "docs").glob("*.md")]
    ending = ending_models()
    named = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"`(?:openai/)?([a-z0-9.-]+)`", page.read_text(encoding="utf-8"))
    }
    assert not {each for each in named if each[1] in ending}


def asks(catalogue: Catalogue, config: LLMConfig) -> None:
    request = Spoken("openai", catalogue.of(config), None).request(Rows().user("hi"), model=config.model)  # type: ignore[arg-type]
    catalogue.of(config).complete(request)


def test_a_key_goes_to_its_own_address_only(server: ScriptedOpenAI) -> None:
    catalogue = Catalogue(over(server, ANTHROPIC_API_KEY="sk-other"), dial=Door(THIS_MACHINE).dial)
    asks(catalogue, foreign(server.url + "/"))
    assert server.requests[-1].headers["authorization"] == "Bearer sk-own"
    with ScriptedOpenAI() as stranger:
        for kind, named in (("openai", "openai"), ("ollama", None), ("openai", "anthropic"), ("vllm", "hibernaut")):
            asks(catalogue, foreign(stranger.url, kind, **({"provider_name": named} if named else {})))
        assert len(stranger.requests) == 4
        assert "sk-" not in str([each.headers for each in stranger.requests])


def test_an_agent_made_from_a_handle_follows_its_provider_to_a_new_address(server: ScriptedOpenAI) -> None:
    config = Catalogue(over(server)).config("openai/gpt-9")
    with ScriptedOpenAI() as moved:
        asks(Catalogue(over(moved)), config)
        assert [each.body["model"] for each in moved.requests] == ["gpt-9"]


@pytest.mark.parametrize(
    "config",
    [
        foreign("https://api.openai.com/v1"),
        foreign("https://api.anthropic.com/v1", "anthropic"),
        foreign("file:///etc/passwd"),
        LLMConfig(model="gpt-4o", model_endpoint_type="openai", handle="openai/gpt-4o", context_window=9),
    ],
)
def test_a_provider_that_is_not_configured_is_not_found(config: LLMConfig) -> None:
    with pytest.raises(NotFound):
        Catalogue(Kept(), dial=Door(THIS_MACHINE).dial).of(config)


def test_the_embedding_models_that_are_given_are_listed_once_and_the_default_first(server: ScriptedOpenAI) -> None:
    server.models = [{"id": name} for name in ("gpt-9", "text-embedding-3-large", "text-embedding-3-small")]
    given = [description("hibernaut", "minilm", 384), description("openai", "text-embedding-3-small", 512)]
    offer = Offered(given, "openai/text-embedding-3-small")
    catalogue = Catalogue(over(server), embeddings=offer)
    assert [(row.handle, row.embedding_dim) for row in catalogue.list_embeddings()] == [
        ("openai/text-embedding-3-small", 512),
        ("hibernaut/minilm", 384),
        ("openai/text-embedding-3-large", 3072),
    ]
    server.close()
    away = Catalogue(over(server), embeddings=offer)
    assert away.list_embeddings()[0] == given[1]


def test_each_provider_that_embeds_tells_its_embedding_models_and_others_tell_none(server: ScriptedOpenAI) -> None:
    server.models = [{"id": name} for name in ("llama-4", "mistral-embed", "BAAI/bge-large-en-v1.5")]
    kept = {f"{name}_{part}": value for name in ("TOGETHER", "MISTRAL", "GROQ", "VLLM") for part, value in (("API_KEY", "k"), ("BASE_URL", server.url))}  # fmt: skip
    rows = Catalogue(Kept(**kept, VLLM_API_BASE=server.url)).list_embeddings()
    assert {row.handle.partition("/")[0] for row in rows} == {"together", "mistral", "vllm"}
    assert ("together/BAAI/bge-large-en-v1.5", 1024) in [(row.handle, row.embedding_dim) for row in rows]


def test_a_server_of_embedding_models_alone_is_listed(server: ScriptedOpenAI) -> None:
    server.models = [{"id": "BAAI/bge-m3"}]
    catalogue = Catalogue(Kept(VLLM_API_BASE=server.url))
    assert [row.handle for row in catalogue.list_embeddings()] == ["vllm/BAAI/bge-m3"]
    assert [row.handle for row in catalogue.list()] == ["hibernaut/demo"]


def test_an_extra_provider_answers_under_its_name() -> None:
    model = DemoModel()
    catalogue = Catalogue(Kept(), extra={"scripted": model})
    assert catalogue.of(LLMConfig(model="x", model_endpoint_type="scripted", handle="scripted/x", context_window=9)) is model


def test_what_is_configured_is_shown_without_what_is_secret() -> None:
    catalogue = Catalogue(Kept(OPENAI_BASE_URL="http://me:secret@host:1/v1", ANTHROPIC_API_KEY="sk-other"))
    assert catalogue.providers() == {
        "hibernaut": "in this process",
        "openai": "http://host:1/v1",
        "anthropic": "https://api.anthropic.com",
    }


def test_making_a_catalogue_asks_nobody(server: ScriptedOpenAI) -> None:
    Catalogue(over(server)).providers()
    assert server.listings == []


def test_without_a_dial_no_address_is_called_that_only_a_caller_names(server: ScriptedOpenAI) -> None:
    with ScriptedOpenAI() as stranger:
        catalogue = Catalogue(over(server))
        asks(catalogue, foreign(server.url))
        with pytest.raises(NotFound):
            catalogue.of(foreign(stranger.url))
        assert stranger.requests == []


@pytest.mark.parametrize("life", ["5m", "1h"])
def test_the_prompt_cache_of_the_deployment_is_asked_for(life: CacheLife) -> None:
    catalogue = Catalogue(Kept(ANTHROPIC_API_KEY="sk-own"), prompt_cache=life)
    config = LLMConfig(
        model="claude-sonnet-5", model_endpoint_type="anthropic", handle="anthropic/claude-sonnet-5", context_window=9
    )
    sent = catalogue.of(config).payload(ModelRequest(config=config, system="Be kind.", messages=[]))
    assert sent["cache_control"].get("ttl", "5m") == life


def log_member(catalogue: Catalogue, handle: str) -> str:
    """The member of a request that holds the log, by which the wire formats differ."""
    config = catalogue.config(handle)
    sent = catalogue.of(config).payload(ModelRequest(config=config, system="Be kind.", messages=[]))
    (found,) = {"input", "messages", "contents"} & sent.keys()
    return found


@pytest.mark.parametrize(
    ("url", "api", "member"),
    [
        (None, None, "input"),
        ("https://api.openai.com/v1/", None, "input"),
        (None, "chat", "messages"),
        ("http://127.0.0.1:9/v1", None, "messages"),
        ("http://127.0.0.1:9/v1", "responses", "input"),
    ],
)
def test_openais_own_address_is_asked_by_responses_and_any_other_by_chat_completions(url: Any, api: Any, member: str) -> None:
    variables = {"OPENAI_API_KEY": "sk-own", "OPENAI_BASE_URL": url, "OPENAI_WIRE": api}
    catalogue = Catalogue(Kept(**{name: value for name, value in variables.items() if value}))
    catalogue._providers["openai"].stale_at = float("inf")  # its list is not asked for
    assert log_member(catalogue, "openai/m") == member


def test_gemini_is_asked_by_its_own_wire_unless_its_address_speaks_openais() -> None:
    for url, member in (("http://127.0.0.1:9", "contents"), ("http://127.0.0.1:9/v1beta/openai", "messages")):
        catalogue = Catalogue(Kept(GEMINI_API_KEY="sk-own", GEMINI_BASE_URL=url))
        assert log_member(catalogue, "google_ai/m") == member


def test_a_list_of_ten_thousand_models_is_read_once_and_named_in_part(server: ScriptedOpenAI) -> None:
    server.models = [{"id": f"model-{number:05}"} for number in range(10_000)]
    catalogue = Catalogue(over(server))
    assert len(catalogue.list()) == 10_001
    with pytest.raises(NotFound) as raised:
        catalogue.config("openai/other")
    assert raised.value.detail.endswith("and 9951 more: GET /v1/models/]")
    assert len(raised.value.detail) < 2_000
    assert len(server.listings) == 2


def test_a_list_that_is_longer_than_any_real_one_is_not_read_to_its_end(
    server: ScriptedOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_completions, "LARGEST_LIST", 1000)
    server.models = [{"id": f"model-{number:05}"} for number in range(100)]
    catalogue = Catalogue(over(server))
    assert [row.handle for row in catalogue.list()] == ["hibernaut/demo"]
    assert catalogue.config("openai/taken-at-its-word").model == "taken-at-its-word"
