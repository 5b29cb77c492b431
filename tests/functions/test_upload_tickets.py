"""Announcing a file where no bucket takes files from clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.domain.wire.listing import Page
from hibernaut.rest.http.errors import status_of
from hibernaut.schemas.errors import NotImplementedHere
from hibernaut.schemas.memory.file import AnnounceUpload
from hibernaut.schemas.memory.folder import CreateFolder
from tests.support.house import house_in


def test_at_home_a_file_cannot_be_announced_and_the_text_says_where_it_goes(tmp_path: Path) -> None:
    with house_in(tmp_path) as house:
        folder = house.services.folders.create(CreateFolder(name="papers"), user="user-1")
        with pytest.raises(NotImplementedHere, match="there is no bucket that takes them") as refused:
            house.services.upload_tickets.announce(folder.id, AnnounceUpload(file_name="a.txt", file_size=5))
        assert status_of(refused.value) == 501
        assert house.services.files.page(folder.id, Page()) == []
