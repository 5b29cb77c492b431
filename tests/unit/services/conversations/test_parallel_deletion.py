"""On a host with several threads, a deletion of an agent or of a folder deletes its conversations or files at once."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from hibernaut.ports.memory.ingest import NO_INGEST
from hibernaut.ports.storage.table import Change, Delete, Key, Update
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.memory.folder import CreateFolder
from hibernaut.services.files.files import Upload
from hibernaut.store.table import keys
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.deletions import TENANT, House
from tests.support.tables import PassesOn

THREADS = 4


class Together(PassesOn):
    """Passes a write of one of the chosen items only when as many threads as the host has wait to write such items."""

    chosen: frozenset[Key] = frozenset()
    meeting = Barrier(THREADS, timeout=20)

    def write(self, *changes: Change) -> None:
        if any(isinstance(change, (Delete, Update)) and change.key in self.chosen for change in changes):
            self.meeting.wait()
        super().write(*changes)


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Embedded]:
    made = Embedded(EmbeddedSettings(data=tmp_path), EmbeddedOverrides(table=Together))
    yield made
    made.close()


@pytest.fixture
def services(embedded: Embedded) -> Services:
    return services_of(embedded.stores, replace(embedded.host, threads=THREADS, ingest=NO_INGEST), embedded.engines).of(TENANT)


def test_the_conversations_of_an_agent_are_deleted_at_once(
    embedded: Embedded, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(embedded, services)
    agent = house.agent()
    conversations = [house.conversation(agent) for _ in range(2 * THREADS)]
    monkeypatch.setattr(Together, "chosen", frozenset(keys.conversation(TENANT, one) for one in conversations))
    services.agents.delete(agent)
    assert not any(house.left(one) for one in [agent, *conversations])


def test_the_files_of_a_folder_are_deleted_at_once(
    embedded: Embedded, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(embedded, services)
    folder = services.folders.create(CreateFolder(name="notes")).id
    uploads = [Upload(io.BytesIO(b"a note"), f"{number}.txt", "text/plain") for number in range(2 * THREADS)]
    files = [services.files.upload(folder, upload, "error").file.id for upload in uploads]
    monkeypatch.setattr(Together, "chosen", frozenset(keys.file(TENANT, one) for one in files))
    services.folders.delete(folder)
    assert not any(house.left(one) for one in [folder, *files])
