"""The lists of providers: when they are asked for, and what stands in for one that does not come."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.demo.demo import DemoModel
from hibernaut.adapters.model.provider import LIST_SECONDS, CatalogueProvider
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.models.llm_config import ModelDescription
from tests.contracts.model.test_catalogue import over
from tests.support.provider_servers import ScriptedOpenAI


class Hands:
    """A clock that is moved by hand."""

    time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI(models=[{"id": "gpt-4o-mini"}, {"id": "gpt-9"}]) as scripted:
        yield scripted


def test_a_list_is_asked_for_once_in_five_minutes_and_kept_while_the_provider_is_away(server: ScriptedOpenAI) -> None:
    clock = Hands()
    catalogue = Catalogue(over(server), now=clock)
    before = catalogue.list()
    clock.time = 299.0
    catalogue.list()
    assert len([each for each in server.listings if each.path == "/v1/models"]) == 2  # models, then embeddings
    server.listing_says = {"status": 500, "body": {}}
    clock.time = 301.0
    assert catalogue.list() == before
    server.listing_says = None
    server.models = [{"id": "gpt-10"}]
    clock.time = 362.0
    assert "openai/gpt-10" in [row.handle for row in catalogue.list()]


def test_while_one_thread_refreshes_a_list_all_others_go_on_with_the_last() -> None:
    asked, free, clock = threading.Event(), threading.Event(), Hands()

    class Slow(DemoModel):
        def models(self) -> list[ModelDescription]:
            asked.set()
            assert free.wait(60)
            return super().models()

    provider = CatalogueProvider("slow", "in this process", Slow())
    free.set()
    provider.refresh(clock)
    before = provider.known
    clock.time = LIST_SECONDS
    asked.clear()
    free.clear()
    thread = threading.Thread(target=provider.refresh, args=(clock,))
    thread.start()
    assert asked.wait(60)
    provider.refresh(clock)
    assert provider.known == before != []
    free.set()
    thread.join()
    assert provider.stale_at == 2 * LIST_SECONDS


def test_a_provider_that_fails_is_left_alone_for_a_minute(server: ScriptedOpenAI) -> None:
    server.listing_says = {"status": 500, "body": {}}
    clock = Hands()
    catalogue = Catalogue(over(server), now=clock)
    catalogue.list()
    count = len(server.listings)
    clock.time = 59.0
    catalogue.list()
    assert len(server.listings) == count
    clock.time = 60.0
    catalogue.list()
    assert len(server.listings) == 2 * count


def test_a_provider_that_refuses_its_key_is_named_with_the_reason_and_without_the_key(server: ScriptedOpenAI) -> None:
    server.listing_says = {"status": 401, "body": {"error": {"message": "Incorrect API key provided: sk-own"}}}
    with pytest.raises(InvalidArgument, match=r"lists none \(.*the API key was refused") as refused:
        Catalogue(over(server)).default_handle()
    assert "sk-own" not in str(refused.value)
