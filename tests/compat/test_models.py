"""The lists of models (digest 2.13)."""

from __future__ import annotations

import pytest
from letta_client import Letta

from tests.compat.conftest import HANDLE


@pytest.mark.manifest("models.list")
def test_all_models_are_listed_with_the_default_first(client: Letta) -> None:
    models = client.models.list()
    assert models[0].handle == "hibernaut/demo"
    assert HANDLE in [model.handle for model in models]
    scripted = next(model for model in models if model.handle == HANDLE)
    assert (scripted.name, scripted.provider_name, scripted.provider_type) == ("test-model", "openai", "openai")
    assert scripted.api_model_type == "llm"
    assert scripted.max_context_window > 0


@pytest.mark.manifest("models.list.filters")
def test_models_are_found_by_their_provider(client: Letta) -> None:
    assert [model.handle for model in client.models.list(provider_name="openai")] == [HANDLE]
    assert [model.handle for model in client.models.list(provider_type="hibernaut")] == ["hibernaut/demo"]
    assert client.models.list(provider_category=["byok"]) == []


@pytest.mark.manifest("models.embedding")
def test_embedding_models_are_listed(client: Letta) -> None:
    first = client.models.embeddings.list()[0]
    assert first.handle == "hibernaut/minilm"
    assert first.embedding_dim == 384
