"""What a process may open and close many times leaves nothing behind."""

from __future__ import annotations

import gc
import logging
import threading
import weakref
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hibernaut.rest.app import create_app
from hibernaut.services.search.search_sources import NoEmbedders
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.data_folder import INDEX
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings

AGENTS = 200
"""So many that an index is not built anew in a moment."""


def test_a_house_that_was_served_and_closed_is_given_back_with_its_app(tmp_path: Path) -> None:
    with Embedded(EmbeddedSettings(data=tmp_path), EmbeddedOverrides(embedders=NoEmbedders())) as house:
        app = create_app(services_of(house.stores, house.host, house.engines))
        with TestClient(app, "http://127.0.0.1") as client:
            assert [client.get(path).status_code for path in ("/", "/docs", "/v1/health/", "/v1/agents/")] == [200] * 4
    there = weakref.ref(app), weakref.ref(house), weakref.ref(house.stores)
    del app, client, house
    gc.collect()
    assert [each() for each in there] == [None] * 3


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_a_closed_data_folder_has_no_reader_left_that_built_the_index_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever copies or replaces the files then finds all of them in the one file, and nothing writes to it any more."""
    words = EmbeddedSettings(data=tmp_path, default_embedding="none")
    with Embedded(words) as house:
        app = create_app(services_of(house.stores, house.host, house.engines))
        with TestClient(app, "http://127.0.0.1") as client:
            for _ in range(AGENTS):
                assert client.post("/v1/agents/", json={"memory_blocks": []}).status_code == 200
    (tmp_path / INDEX).unlink()
    with Embedded(words) as house:
        while not house.reindexing.broken_off():
            assert "reindex" in threads(), "the index was complete before it could be looked at"
    assert "reindex" not in threads()
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith("-wal")]
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
