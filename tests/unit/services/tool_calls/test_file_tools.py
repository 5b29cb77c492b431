"""The tools for files, run by hand: patterns over many files, windows far into one, and what is out of bounds."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.domain.files import file_texts
from hibernaut.ports.memory.embedder import Embedders
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.agents.agent import CreateAgentRequest
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.memory.folder import CreateFolder
from hibernaut.services.files.files import Upload
from hibernaut.services.files.ingestion import Ingestion
from hibernaut.services.search.search_sources import NoEmbedders
from hibernaut.services.tool_calls import file_tools
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.hashing_embedder import OneEmbedder

TENANT = "default"
_NUMBERS = count()


class Desk:
    """An agent with a folder, at home; what is sent is read at once."""

    def __init__(self, house: Embedded, embedders: Embedders | None = None) -> None:
        house.ingest.close()
        self.services: Services = services_of(house.stores, house.host, house.engines).of(TENANT)
        self._ingestion = Ingestion(
            house.stores.of(TENANT), house.host, embedders or NoEmbedders(), indexed=embedders is not None
        )
        config = embedders.default() if embedders else None
        self.folder = self.services.folders.create(CreateFolder(name="f", embedding_config=config))
        asked = CreateAgentRequest(folder_ids=[self.folder.id], per_file_view_window_char_limit=500)
        self.agent = self.services.agents.creation.create(asked)

    def add(self, name: str, text: str) -> None:
        upload = Upload(io.BytesIO(text.encode()), name, "text/plain")
        self._ingestion.process(self.services.files.upload(self.folder.id, upload, "error").file.id)

    def call(self, name: str, **args: object) -> str:
        arguments: JsonObject = args
        result = self.services.tools.runs.run_attached(self.agent.id, name, arguments)
        return str(result.func_return if result.status == "success" else result.stderr)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    house = Embedded(EmbeddedSettings(data=tmp_path), EmbeddedOverrides(embedders=NoEmbedders()))
    yield Desk(house)
    house.close()


@pytest.mark.parametrize("together", [1, 40, 10_000])
def test_each_match_names_its_file_and_its_line(desk: Desk, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_tools, "TOGETHER", together)
    for number in range(6):
        desk.add(f"{number}.txt", "nothing\n" * number + f"owl {number}\n")
    desk.add("empty.txt", "")
    found = desk.call("grep_files", pattern="owl", context_lines=0)
    assert "Found 6 total matches across 6 files" in found
    for number in range(6):
        assert f"=== f/{number}.txt:{number + 1} ===\n> {number + 1}: owl {number}" in found


def test_an_overlong_line_shifts_no_number(desk: Desk) -> None:
    desk.add("long.txt", "short\n" + "word " * 1_000 + "\n" + "short\n" * 507 + "owl\n")
    found = desk.call("grep_files", pattern="owl", context_lines=0)
    assert "=== f/long.txt:510 ===\n> 510: owl" in found
    opened = desk.call("open_files", file_requests=[{"file_name": "long.txt", "offset": 509, "length": 1}])
    assert opened.endswith("[Viewing lines 510 to 510 (out of 510 lines)]\n510: owl")


@given(st.lists(st.sampled_from(["", "a", "bb b", "c" * 30, "d" * 90]), min_size=1, max_size=12), st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_window_shows_the_lines_that_it_names(desk: Desk, lines: list[str], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_texts, "PART", 16)
        name = f"{next(_NUMBERS)}.txt"
        desk.add(name, "\n".join(["first", *lines]) + "\n")
    offset = data.draw(st.integers(0, len(lines)))
    length = data.draw(st.integers(1, 3))
    opened = desk.call("open_files", file_requests=[{"file_name": name, "offset": offset, "length": length}])
    seen = ["first", *lines][offset : offset + length]
    assert opened.endswith("\n".join(f"{number}: {line}" for number, line in enumerate(seen, offset + 1)))


def test_files_are_chosen_by_their_names(desk: Desk) -> None:
    desk.add("a.py", "owl")
    desk.add("b.txt", "owl")
    assert "across 1 files" in desk.call("grep_files", pattern="owl", include="*.py")
    assert "across 1 files" in desk.call("grep_files", pattern="owl", include="f/b.*")
    assert "across 2 files" in desk.call("grep_files", pattern="owl", include="[ab].*")
    assert "No matches" in desk.call("grep_files", pattern="owl", include="c*")
    assert "file names" in desk.call("grep_files", pattern="owl", include="(")


def test_a_pattern_that_would_never_end_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_tools, "SECONDS_TO_GREP", 0.5)
    desk.add("a.txt", "a" * 60 + "b")
    assert "takes longer" in desk.call("grep_files", pattern="(a+)+$")


def test_what_is_not_looked_at_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_tools, "LARGEST_FILE", 10)
    desk.add("large.txt", "owl " * 10)
    desk.add("small.txt", "owl")
    found = desk.call("grep_files", pattern="owl")
    assert "Found 1 total matches" in found
    assert "Not searched, because of its size or because there are enough matches: f/large.txt" in found


def test_more_matches_than_are_counted_are_said_to_be_more(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_tools, "MOST_MATCHES", 30)
    desk.add("many.txt", "owl\n" * 100)
    assert "(showing matches 1-20 of 30+)" in desk.call("grep_files", pattern="owl")


def test_a_window_far_into_a_file_shows_the_right_lines(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_texts, "PART", 64)
    desk.add("long.txt", "".join(f"This is line {number}.\n" for number in range(1, 101)))
    opened = desk.call("open_files", file_requests=[{"file_name": "long.txt", "offset": 76, "length": 3}])
    assert (
        "[Viewing lines 77 to 79 (out of 100 lines)]\n77: This is line 77.\n78: This is line 78.\n79: This is line 79." in opened
    )
    to_the_end = desk.call("open_files", file_requests=[{"file_name": "f/long.txt", "offset": 98}])
    assert to_the_end.endswith("99: This is line 99.\n100: This is line 100.")
    cut = desk.call("open_files", file_requests=[{"file_name": "long.txt"}])
    assert "[TRUNCATED]" in cut
    assert "100 lines: `offset`" in desk.call("open_files", file_requests=[{"file_name": "long.txt", "offset": 100}])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("open_files", {}),
        ("open_files", {"file_requests": []}),
        ("open_files", {"file_requests": [{"name": "a"}]}),
        ("open_files", {"file_requests": [{"file_name": "a.txt", "offset": -1}]}),
        ("open_files", {"file_requests": [{"file_name": "a.txt", "length": 0}]}),
        ("grep_files", {}),
        ("grep_files", {"pattern": " "}),
        ("grep_files", {"pattern": "x" * 1001}),
        ("grep_files", {"pattern": "x", "offset": "1"}),
        ("semantic_search_files", {"query": " "}),
        ("semantic_search_files", {"query": "x", "limit": 0}),
    ],
)
def test_what_cannot_be_used_says_what_was_expected(desk: Desk, name: str, args: JsonObject) -> None:
    desk.add("a.txt", "owl")
    result = desk.services.tools.runs.run_attached(desk.agent.id, name, args)
    assert result.status == "error"
    assert "`" in str(result.stderr)


def test_what_is_not_embedded_yet_is_found_by_its_words_and_named(tmp_path: Path) -> None:
    embedders = OneEmbedder()
    with closing(Embedded(EmbeddedSettings(data=tmp_path), EmbeddedOverrides(embedders=embedders))) as house:
        desk = Desk(house, embedders)
        desk.add("bees.txt", "Bees make honey in summer.")
        found = desk.call("semantic_search_files", query="honey")
        assert "Bees make honey in summer." in found
        assert "f/bees.txt is still being embedded (0 % done)" in found
        assert house.index_worker.drain()
        assert "still being embedded" not in desk.call("semantic_search_files", query="honey")
