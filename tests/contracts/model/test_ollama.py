"""Ollama's windows: what it really reads of a prompt is advertised, and what limits it is logged once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.dialects import OLLAMA
from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from tests.support.ollama_server import ScriptedOllama
from tests.support.provider_http import Wire

LOGGER = "hibernaut.adapters.model.openai.ollama_list"


@pytest.fixture
def ollama() -> Iterator[ScriptedOllama]:
    with ScriptedOllama() as server:
        yield server


def shown(trained: int | None = 131_072, *, parameters: str = "temperature 1", capability: str = "completion") -> Wire:
    info: dict[str, Any] = {"general.architecture": "llama"} | ({"llama.context_length": trained} if trained else {})
    return {"model_info": info, "parameters": parameters, "capabilities": [capability]}


def windows(server: ScriptedOllama) -> dict[str, int]:
    model = OpenAIModel(api_key=None, base_url=server.url, windows=ContextWindows(), name="ollama", dialect=OLLAMA)
    return {row.model: row.context_window for row in model.models()}


def test_a_loaded_model_has_the_window_that_it_is_loaded_with(ollama: ScriptedOllama) -> None:
    ollama.shows = {"llama3.3": shown(), "qwen3:8b": shown(40_960)}
    ollama.loaded = {"llama3.3": 32_768}
    assert windows(ollama) == {"llama3.3": 32_768, "qwen3:8b": 4096}


def test_a_model_that_is_not_loaded_has_its_own_parameter_up_to_what_it_was_trained_for(ollama: ScriptedOllama) -> None:
    ollama.shows = {
        "a": shown(parameters="stop x\nnum_ctx                        16384\ntop_p 1"),
        "b": shown(8192, parameters="num_ctx 65536"),
        "c": shown(None),
        "d": {"broken": True},
    }
    assert windows(ollama) == {"a": 16_384, "b": 8192, "c": 4096, "d": 4096}
    ollama.old = True
    assert windows(ollama)["a"] == 16_384


def test_an_ollama_that_is_silent_about_one_model_is_not_asked_about_the_next(
    ollama: ScriptedOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hibernaut.adapters.model.openai.ollama_list.LIST_SECONDS", 0.1)
    ollama.shows = {"a": shown(), "b": {"silent": True}, "c": shown(), "d": shown()}
    ollama.loaded = {"a": 16_384, "d": 16_384}
    assert windows(ollama) == {"a": 16_384, "b": 4096, "c": 4096, "d": 16_384}
    assert [asked.body["model"] for asked in ollama.requests] == ["a", "b"]


def test_an_embedding_model_is_no_chat_model(ollama: ScriptedOllama) -> None:
    ollama.shows = {"mine": shown(capability="embedding"), "nomic-embed-text": shown(capability="embedding"), "chat": shown()}
    assert list(windows(ollama)) == ["chat"]


def test_what_limits_the_windows_is_logged_once_with_what_to_set(
    ollama: ScriptedOllama, caplog: pytest.LogCaptureFixture
) -> None:
    ollama.shows = {"llama3.3": shown(), "qwen3:8b": shown(4096)}
    clock = iter([0.0, 0.0, 1000.0, 1000.0] + [2000.0] * 20)
    with caplog.at_level(logging.WARNING, logger=LOGGER):
        catalogue = Catalogue(EnvironmentSecrets({"OLLAMA_BASE_URL": ollama.address}), now=lambda: next(clock))
        for _ in range(3):
            rows = catalogue.list()
    assert {row.handle: row.context_window for row in rows}["ollama/llama3.3"] == 4096
    [record] = [each for each in caplog.records if each.name == LOGGER]
    assert (record.__dict__["windows"], record.__dict__["models"]) == ("llama3.3 (4096)", 1)
    assert "OLLAMA_CONTEXT_LENGTH" in record.__dict__["advice"]


def test_an_agent_of_a_handle_gets_the_real_window(ollama: ScriptedOllama) -> None:
    ollama.shows, ollama.loaded = {"qwen3:8b": shown()}, {"qwen3:8b": 8192}
    catalogue = Catalogue(EnvironmentSecrets({"OLLAMA_BASE_URL": ollama.address}))
    assert catalogue.config("ollama/qwen3:8b").context_window == 8192


def test_an_ollama_that_is_away_lists_nothing(ollama: ScriptedOllama) -> None:
    ollama.close()
    assert windows(ollama) == {}
