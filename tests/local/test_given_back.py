"""What a process may open and close many times leaves nothing behind."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from starlette.testclient import TestClient

from hibernaut.rest.app import create_app
from hibernaut.services.search.search_sources import NoEmbedders
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings


def test_a_house_that_was_served_and_closed_is_given_back_with_its_app(tmp_path: Path) -> None:
    with Embedded(EmbeddedSettings(data=tmp_path), EmbeddedOverrides(embedders=NoEmbedders())) as house:
        app = create_app(services_of(house.stores, house.host, house.engines))
        with TestClient(app, "http://127.0.0.1") as client:
            assert [client.get(path).status_code for path in ("/", "/docs", "/v1/health/", "/v1/agents/")] == [200] * 4
    there = weakref.ref(app), weakref.ref(house), weakref.ref(house.stores)
    del app, client, house
    gc.collect()
    assert [each() for each in there] == [None] * 3
