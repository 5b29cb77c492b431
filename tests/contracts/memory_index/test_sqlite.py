"""What only the file has: it stays, it can be shared, damaged and closed, and its memory is bounded."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hibernaut.adapters import sqlite_connections
from hibernaut.adapters.memory_index.sqlite import SECONDS_OF_A_TOMBSTONE, SqliteMemoryIndex
from hibernaut.ports.memory.memory_index import IndexAsleep
from tests.contracts.memory_index.documents import EAST, NORTH, SPACE, by_vector, by_words, document, held, query, tombstone


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    index = SqliteMemoryIndex(tmp_path / "memory.db")
    assert index.is_new
    index.put(SPACE, [document("one", "tea", EAST)])
    index.remove(SPACE, [tombstone("two", 3)])
    index.close()
    again = SqliteMemoryIndex(tmp_path / "memory.db")
    again.put(SPACE, [document("two", version=3)])
    assert not again.is_new
    assert (by_words(again, "tea"), by_vector(again, EAST), held(again)) == (["one"], ["one"], [("one", 1, True)])
    again.close()


@pytest.mark.parametrize(
    ("seconds", "back"), [(SECONDS_OF_A_TOMBSTONE - 1, []), (SECONDS_OF_A_TOMBSTONE + 1, [("one", 1, False)])]
)
def test_a_tombstone_holds_for_an_hour(tmp_path: Path, seconds: float, back: list[tuple[str, int, bool]]) -> None:
    clock = [1000.0]
    index = SqliteMemoryIndex(tmp_path / "memory.db", now=lambda: clock[0])
    index.remove(SPACE, [tombstone("one", 2)])
    clock[0] += seconds
    index.put(SPACE, [document("one")])
    assert held(index) == back
    index.close()


def test_what_another_process_writes_replaces_and_drops_is_seen_at_once(tmp_path: Path) -> None:
    """Both keep vectors in memory."""
    one, other = (SqliteMemoryIndex(tmp_path / "memory.db") for _ in range(2))
    one.put(SPACE, [document("one", "tea", EAST), document("two", "tea", NORTH)])
    assert by_vector(other, EAST) == ["one", "two"]
    one.put(SPACE, [document("one", "coffee", (0.0, 0.0, 1.0, 0.0), version=2), document("three", "tea", (0.9, 0.1, 0.0, 0.0))])
    assert by_vector(other, EAST, limit=1) == ["three"]
    one.remove(SPACE, [tombstone("three")])
    assert by_vector(other, NORTH, limit=2)[0] == "two"
    assert set(by_vector(other, NORTH)) == {"one", "two"}
    one.drop(SPACE)
    assert by_vector(other, EAST) == by_words(other, "tea") == []
    one.put(SPACE, [document("new", "tea", (1.0, 0.0))])
    assert by_vector(other, (1.0, 0.0)) == ["new"]
    one.close()
    other.close()


@pytest.mark.parametrize("vector_bytes", [0, 4000, 10**9])
def test_however_little_may_stay_in_memory_the_nearest_are_exact(tmp_path: Path, vector_bytes: int) -> None:
    """Against arithmetic without an index, over places that fit, that do not, that change, and that push each other out."""
    numbers = random.Random(4)
    index = SqliteMemoryIndex(tmp_path / "memory.db", vector_bytes=vector_bytes)
    there: dict[str, tuple[str, tuple[float, ...]]] = {}
    for turn in range(40):
        for version in range(8 * turn + 1, 8 * turn + 9):
            name = f"d{numbers.randrange(90)}"
            if numbers.random() < 0.2 and name in there:
                index.remove(SPACE, [tombstone(name, version)])
                del there[name]
                continue
            place, vector = numbers.choice("abc"), tuple(numbers.gauss(0, 1) for _ in range(4))
            index.put(SPACE, [document(name, vector=vector, place=place, version=version, tags=(place,))])
            there[name] = (place, vector)
        asked = tuple(numbers.gauss(0, 1) for _ in range(4))
        for places in (("a",), ("b", "c"), None):
            of_places = {name: vector for name, (place, vector) in there.items() if places is None or place in places}
            exact = sorted(of_places, key=lambda name: -cosine(of_places[name], asked))[:5]
            assert by_vector(index, asked, places=places, limit=5) == exact
            assert by_vector(index, asked, places=None, tags=tuple(places or "abc"), limit=5) == exact
    index.close()


def test_a_place_that_was_emptied_leaves_nothing_in_memory(tmp_path: Path) -> None:
    index = SqliteMemoryIndex(tmp_path / "memory.db")
    for number in range(30):
        place = f"archive {number}"
        index.put(SPACE, [document(f"d{number}", vector=EAST, place=place), document(f"e{number}", vector=EAST, place=place)])
        assert by_vector(index, EAST, places=(place,)) == [f"d{number}", f"e{number}"]
        index.remove(SPACE, [tombstone(f"d{number}")])
        assert by_vector(index, EAST, places=(place,)) == [f"e{number}"]
        index.remove(SPACE, [tombstone(f"e{number}")])
    assert by_vector(index, EAST, places=("archive 1", "another")) == []
    assert not index._vectors._shelves
    assert not index._vectors._bytes
    index.close()


def test_many_small_places_keep_the_bound_with_the_room_that_each_has_for_more(tmp_path: Path) -> None:
    index = SqliteMemoryIndex(tmp_path / "memory.db", vector_bytes=20_000)
    for number in range(60):
        place = f"archive {number}"
        index.put(SPACE, [document(f"d{number}", vector=EAST, place=place)])
        assert by_vector(index, EAST, places=(place,)) == [f"d{number}"]
    shelves = index._vectors._shelves.values()
    assert sum(block.vectors.nbytes + block.rows.nbytes for shelf in shelves for block in shelf.blocks) <= 20_000
    assert len(shelves) <= 20
    index.close()


def cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    def length(vector: tuple[float, ...]) -> float:
        return sum(number * number for number in vector) ** 0.5

    return sum(a * b for a, b in zip(one, other, strict=True)) / (length(one) * length(other))


def test_a_closed_index_is_asleep(tmp_path: Path) -> None:
    index = SqliteMemoryIndex(tmp_path / "memory.db")
    index.put(SPACE, [document("one")])
    index.close()
    for ask in (lambda: index.search(SPACE, query("fact")), lambda: index.put(SPACE, [document("two")]), index.spaces):
        with pytest.raises(IndexAsleep):
            ask()


@pytest.mark.parametrize("content", [b"this is no database " * 100, b""])
def test_a_file_that_is_no_index_is_made_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "memory.db").write_bytes(content)
    index = SqliteMemoryIndex(tmp_path / "memory.db")
    assert index.is_new
    index.put(SPACE, [document("one", "tea")])
    assert by_words(index, "tea") == ["one"]
    index.close()


def test_a_file_of_another_format_is_made_anew(tmp_path: Path) -> None:
    old = SqliteMemoryIndex(tmp_path / "memory.db")
    old.put(SPACE, [document("one", "tea")])
    old.close()
    connection = sqlite3.connect(tmp_path / "memory.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    index = SqliteMemoryIndex(tmp_path / "memory.db")
    assert index.is_new
    assert index.spaces() == []
    index.close()


def test_a_file_of_the_format_before_stays_and_learns_what_stands_before(tmp_path: Path) -> None:
    """Without a rebuild, which would embed every text again."""
    old = SqliteMemoryIndex(tmp_path / "memory.db")
    old.put(SPACE, [document("one", "tea", EAST)])
    old.put("words", [document("one", "tea", tenant="another")])
    old.close()
    connection = sqlite3.connect(tmp_path / "memory.db")
    for (number,) in connection.execute("SELECT number FROM space").fetchall():
        connection.execute(f"ALTER TABLE document_{number} DROP COLUMN before")
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    for _ in range(2):
        index = SqliteMemoryIndex(tmp_path / "memory.db")
        assert not index.is_new
        assert index.spaces() == [SPACE, "words"]
        index.put(SPACE, [document("two", "tea", EAST, before="one")])
        found = index.search(SPACE, query("tea", EAST))
        for hits in (found.lexical, found.vector):
            assert {hit.id: hit.before for hit in hits} == {"one": "", "two": "one"}
        index.close()


def test_a_file_that_another_process_writes_to_is_not_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_connections, "_SECONDS_FOR_A_LOCK", 0.0)
    old = SqliteMemoryIndex(tmp_path / "memory.db")
    old.put(SPACE, [document("one", "tea")])
    old.close()
    other = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    other.execute("PRAGMA user_version = 2")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(IndexAsleep):
        SqliteMemoryIndex(tmp_path / "memory.db")
    assert other.execute("SELECT count(*) FROM space").fetchone() == (1,)
    other.close()


def test_a_damaged_file_of_the_format_before_is_made_anew(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    index = SqliteMemoryIndex(tmp_path / "memory.db")
    assert index.is_new
    index.put(SPACE, [document("one", "tea")])
    assert by_words(index, "tea") == ["one"]
    index.close()


def test_numpy_is_not_imported_before_the_first_vector(tmp_path: Path) -> None:
    """The server starts without it, and so does whoever searches words alone."""
    script = (
        "import sys; from pathlib import Path\n"
        "from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex\n"
        "from tests.contracts.memory_index.documents import SPACE, by_words, document\n"
        f"index = SqliteMemoryIndex(Path({str(tmp_path / 'memory.db')!r}))\n"
        "index.put(SPACE, [document('one', 'tea')])\n"
        "print(by_words(index, 'tea'), 'numpy' in sys.modules)\n"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["['one']", "False"]
