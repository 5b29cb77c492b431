"""Windows of models whose server cuts longer prompts: no agent's is larger, and the overview says what limits it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.model.kit.engine import Engine
from tests.support.agent_documents import imported
from tests.support.agent_file_parts import agent, file_of
from tests.support.ollama_server import ScriptedOllama

HANDLE = "ollama/llama3.3"


@pytest.fixture
def ollama() -> Iterator[ScriptedOllama]:
    with ScriptedOllama() as server:
        server.shows = {"llama3.3": {"model_info": {"llama.context_length": 131_072}, "capabilities": ["completion"]}}
        server.loaded = {"llama3.3": 8192}
        yield server


@pytest.fixture
def engine(ollama: ScriptedOllama, tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path, {"OLLAMA_BASE_URL": ollama.address, "OPENAI_API_KEY": "k"})
    yield made
    made.close()


def note(engine: Engine) -> str | None:
    return engine.services.agents.windows.overview(engine.agent).context_window_note


def test_a_limit_is_at_most_what_the_server_reads(engine: Engine) -> None:
    engine.make_agent(HANDLE, context_window_limit=100_000)
    assert engine.window == 8192
    engine.change_agent(context_window_limit=2000)
    assert engine.window == 2000
    engine.change_agent(model_settings={"provider_type": "openai", "temperature": 0.5}, context_window_limit=9000)
    assert engine.window == 8192
    config = {"model": "llama3.3", "model_endpoint_type": "ollama", "context_window": 50_000}
    engine.change_agent(llm_config=config)
    assert engine.window == 8192


def test_the_overview_says_what_limits_the_window(engine: Engine, ollama: ScriptedOllama) -> None:
    engine.make_agent(HANDLE)
    assert (note(engine) or "").startswith(
        "The server reads 8192 of the 131072 tokens that the model was trained for. Set OLLAMA_"
    )
    row = next(row for row in engine.models.list() if row.handle == HANDLE)
    assert (row.context_window, row.trained_context_window) == (8192, 131_072)


def test_a_model_that_is_loaded_anew_with_a_smaller_window_is_named(
    engine: Engine, ollama: ScriptedOllama, tmp_path: Path
) -> None:
    engine.make_agent(HANDLE)
    agent_id = engine.agent
    engine.close()
    ollama.loaded = {"llama3.3": 4096}
    later = Engine(tmp_path, {"OLLAMA_BASE_URL": ollama.address})
    later.agent = agent_id
    told = note(later) or ""
    assert told.startswith(
        "The server reads only 4096 tokens of a prompt and cuts a longer one without an error, and the agent's window is 8192"
    )
    assert told.endswith("or set the agent's context_window_limit to 4096.")
    later.change_agent(context_window_limit=4096)
    assert (note(later) or "").startswith("The server reads 4096 of the 131072")
    later.close()


def test_the_window_of_an_imported_agent_is_capped_and_the_notes_say_so(engine: Engine) -> None:
    done = imported(engine.world, file_of(agent(llm_config={"handle": HANDLE, "model": "llama3.3", "context_window": 100_000})))
    engine.agent = done.agent_ids[0]
    assert engine.window == 8192
    assert any("is more than the model's server reads; the agent has 8192" in each.detail for each in done.notes)


def test_other_providers_and_windows_without_a_limit_have_no_note(engine: Engine, ollama: ScriptedOllama) -> None:
    engine.make_agent("openai/gpt-5.6-sol", context_window_limit=50_000)
    assert (note(engine), engine.window) == (None, 50_000)
    ollama.loaded = {"llama3.3": 131_072}
    ollama.shows = {"llama3.3": {"model_info": {"llama.context_length": 131_072}}}
    engine.make_agent(HANDLE)
    assert note(engine) is None


def test_the_window_of_a_model_that_is_not_loaded_is_assumed_and_caps_no_limit(engine: Engine, ollama: ScriptedOllama) -> None:
    ollama.loaded = {}
    engine.make_agent(HANDLE)
    assert engine.window == 4096
    engine.change_agent(context_window_limit=32_768)
    assert engine.window == 32_768
    engine.change_agent(max_tokens=1024)
    assert engine.window == 32_768
    assert (note(engine) or "").startswith(
        "The server tells a model's window only while it has loaded the model. It may read only 4096"
    )
    row = next(row for row in engine.models.list() if row.handle == HANDLE)
    assert row.context_window_assumed


def test_a_configuration_without_a_handle_is_that_of_its_own_server(engine: Engine, ollama: ScriptedOllama) -> None:
    engine.make_agent("openai/gpt-5.6-sol")
    engine.change_agent(llm_config={"model": "llama3.3", "model_endpoint_type": "vllm", "context_window": 50_000})
    assert engine.window == 50_000
