"""A page of a folder's pieces is that of all pieces, however the times of its files lie, and opens no more files than it
needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.domain.files.piece_ids import PIECES_OF_A_MILLISECOND, bounds_of_files, bounds_of_pieces, piece_id
from hibernaut.domain.wire.listing import Page, page
from hibernaut.ports.storage.table import Delete, Index, Item, Put
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.ids import compose
from hibernaut.store.memory.folder_pieces import FolderPieces
from hibernaut.store.table import keys
from hibernaut.store.table.tenant_table import TenantTable
from tests.support.tables import PassesOn

TENANT, FOLDER = "default", "source-1"
INDEX = st.sampled_from([0, 1, 2, PIECES_OF_A_MILLISECOND - 1, PIECES_OF_A_MILLISECOND, 3 * PIECES_OF_A_MILLISECOND])
FILES = st.lists(
    st.tuples(st.sampled_from([1, 2, 3, 4, 200, 5_000, 9_000]), st.frozensets(INDEX, max_size=4), st.booleans()), max_size=9
)
PAGES = st.builds(
    Page,
    limit=st.none() | st.integers(0, 6),
    before=st.none() | st.integers(0, 40).map(str),
    after=st.none() | st.integers(0, 40).map(str),
    descending=st.booleans(),
    lost=st.sampled_from(["refused", "ignored"]),
)


class Opened(PassesOn):
    """Counts the queries of pieces."""

    queries = 0

    def query(self, pk: str, *, index: Index | None = None, **asked: object) -> list[Item]:  # type: ignore[override]
        self.queries += "#FILE#" in pk
        return super().query(pk, index=index, **asked)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteTable]:
    made = SqliteTable(tmp_path_factory.mktemp("pieces") / "table.db")
    yield made
    made.close()


def written(table: SqliteTable, files: Sequence[tuple[int, frozenset[int], bool]]) -> list[tuple[str, str]]:
    """The files at these times with these pieces; those without stored text have none. Returns the pieces with their files."""
    made: list[tuple[str, str]] = []
    for number, (at, indexes, readable) in enumerate(files):
        file_id = compose("file", at, number, number)
        row = keys.folder_file(TENANT, FOLDER, file_id)
        table.write(
            Put({"pk": row.pk, "sk": row.sk, "name": "n", "readable": readable, "characters": max(indexes, default=0) + 1})
        )
        for index in indexes if readable else ():
            made.append((piece_id(file_id, index), file_id))
            key = keys.piece(TENANT, file_id, made[-1][0])
            table.write(Put({"pk": key.pk, "sk": key.sk}))
    return sorted(made)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=FILES, asked=PAGES)
def test_a_page_is_that_of_all_pieces(table: SqliteTable, files: list[tuple[int, frozenset[int], bool]], asked: Page) -> None:
    pieces = written(table, files)
    there = [piece for piece, _ in pieces]
    cursors = {str(number): piece for number, piece in enumerate(there)}
    asked = Page(
        limit=asked.limit,
        before=cursors.get(asked.before or "", asked.before),
        after=cursors.get(asked.after or "", asked.after),
        descending=asked.descending,
        lost=asked.lost,
    )

    def outcome(read: object) -> object:
        try:
            return read()  # type: ignore[operator]
        except NotFound as error:
            return str(error)

    read = FolderPieces(TenantTable(table, TENANT))
    expected = outcome(lambda: page(pieces, asked, id_of=lambda one: one[0], place=lambda one: one[0]))
    assert outcome(lambda: [tuple(one) for one in read.page(FOLDER, asked)]) == expected
    for pk in [keys.folder(TENANT, FOLDER).pk, *{keys.file(TENANT, file_id).pk for _, file_id in pieces}]:
        for item in table.query(pk):
            table.write(Delete(keys.Key(str(item["pk"]), str(item["sk"]))))


@given(at=st.integers(0, 10_000), index=st.integers(0, 250 * PIECES_OF_A_MILLISECOND), low=st.integers(0, (1 << 48) - 1))
def test_a_piece_and_its_file_lie_within_each_others_bounds(at: int, index: int, low: int) -> None:
    file_id = compose("file", at, 7, low)
    piece = piece_id(file_id, index)
    for characters in (None, index + 1):
        least, greatest = bounds_of_pieces(file_id, characters)
        assert least <= piece <= greatest
    least, greatest = bounds_of_files(piece)
    assert least <= file_id <= greatest


@pytest.mark.parametrize("descending", [False, True])
def test_a_page_opens_about_as_many_files_as_it_shows(tmp_path: pytest.TempPathFactory, descending: bool) -> None:
    engine = SqliteTable(tmp_path / "table.db")  # type: ignore[operator]
    written(engine, [(50 * number, frozenset([0, 1]), True) for number in range(300)])
    table = Opened(engine)
    found = FolderPieces(TenantTable(table, TENANT)).page(FOLDER, Page(limit=20, descending=descending))
    assert len(found) == 20
    assert table.queries <= 4 + 8
    engine.close()
