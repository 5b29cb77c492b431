"""A deployment that gets another default model of embeddings: what was said before stays to be found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from hibernaut.ports.memory.embedder import Embedders
from hibernaut.schemas.agents.agent import CreateAgentRequest
from hibernaut.schemas.memory.searches import MessageSearch
from hibernaut.services.search.search_sources import NoEmbedders
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.hashing_embedder import HashingEmbedder, OneEmbedder
from tests.support.world import TENANT


@dataclass
class Another(HashingEmbedder):
    """The same, by another name."""

    @property
    def space(self) -> str:
        return "another"


@pytest.mark.parametrize("later", [OneEmbedder(Another()), NoEmbedders()], ids=["another", "none"])
def test_what_was_said_under_an_earlier_model_is_found_by_its_words(tmp_path: Path, later: Embedders) -> None:
    said = CreateAgentRequest(initial_message_sequence=[{"role": "user", "content": "The key lies in the cellar."}])
    for embedders in (OneEmbedder(), later):
        house = Embedded(EmbeddedSettings(data=tmp_path), EmbeddedOverrides(embedders=embedders))
        services = services_of(house.stores, house.host, house.engines).of(TENANT)
        if embedders is not later:
            services.agents.creation.create(said)
        assert house.index_worker.drain()
        hits, _standing = services.searches.messages(MessageSearch(query="key in the cellar"))
        assert [hit.content for hit in hits] == ["The key lies in the cellar."]
        house.close()
