"""A page of a list in the order of its keys is that of `domain.wire.listing.page` over all rows, and reads no more than it
shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.domain.wire.listing import Page, page
from hibernaut.ports.storage.table import Item, Put
from hibernaut.schemas.errors import NotFound
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.tenant_table import TenantTable
from tests.support.tables import PassesOn

PREFIX = "ROW#"
MOST = 30
MANY = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
IDS = st.integers(0, MOST).map("{:02d}".format)


class Reads(PassesOn):
    """Counts the items that queries answer."""

    items = 0

    def query(self, pk: str, **asked: object) -> list[Item]:  # type: ignore[override]
        found = super().query(pk, **asked)  # type: ignore[arg-type]
        self.items += len(found)
        return found


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteTable]:
    made = SqliteTable(tmp_path_factory.mktemp("rows") / "table.db")
    yield made
    made.close()


def number_of(row: Item) -> int:
    return int(str(row["sk"]).removeprefix(PREFIX))


def filled(table: SqliteTable, pk: str, whole: Sequence[bool]) -> None:
    """Rows of these numbers; what is not whole is what a late write has left."""
    for number, there in enumerate(whole):
        table.write(Put({"pk": pk, "sk": f"{PREFIX}{number:02d}", **({"name": "n"} if there else {"late": 1})}))
    table.write(Put({"pk": pk, "sk": "OTHER#1", "name": "n"}), Put({"pk": pk, "sk": "SOME#1", "name": "n"}))


@MANY
@example(whole=[True] * 9, odd=False, asked=Page(limit=3, before="05", descending=True))
@example(whole=[True] * 9, odd=False, asked=Page(limit=3, before="05", after="99", lost="ignored"))
@example(whole=[True] * 9, odd=False, asked=Page(limit=1, before="99", lost="ignored"))
@given(
    whole=st.lists(st.booleans(), max_size=MOST),
    odd=st.booleans(),
    asked=st.builds(
        Page,
        limit=st.none() | st.integers(0, MOST + 2),
        before=st.none() | IDS,
        after=st.none() | IDS,
        descending=st.booleans(),
        lost=st.sampled_from(["refused", "ignored"]),
    ),
)
def test_a_page_is_that_of_the_whole_list(table: SqliteTable, whole: list[bool], odd: bool, asked: Page) -> None:
    pk = f"t#{hash((tuple(whole), odd)) & 0xFFFFFFFFFFFF}"
    filled(table, pk, whole)
    rows = RowList(TenantTable(table, "t"), pk, PREFIX, mark="name")

    def select(found: Sequence[Item]) -> Sequence[Item]:
        return [row for row in found if not odd or number_of(row) % 2]

    everything = [{"pk": pk, "sk": f"{PREFIX}{number:02d}"} for number, there in enumerate(whole) if there]
    try:
        expected = page(select(everything), asked, id_of=rows.id_of, place=rows.id_of)
    except NotFound:
        with pytest.raises(NotFound):
            rows.page(asked, select)
        return
    assert [rows.id_of(row) for row in rows.page(asked, select)] == [rows.id_of(row) for row in expected]
    assert rows.count() == sum(whole)


@MANY
@given(
    held=st.lists(st.sampled_from(["", "a", "b", "ab", "c"]), max_size=MOST),
    asked=st.builds(
        Page,
        limit=st.none() | st.integers(1, MOST),
        before=st.none() | IDS,
        after=st.none() | IDS,
        descending=st.booleans(),
        lost=st.just("ignored"),
    ),
)
def test_a_page_of_a_union_with_rows_beside_is_that_of_the_whole_list(table: SqliteTable, held: list[str], asked: Page) -> None:
    """Rows under A# and B#, some under both, and rows that only the code knows (c)."""
    pk = f"t#{hash(tuple(held)) & 0xFFFFFFFFFFFF}#union"
    numbered = [(f"{number:02d}", where) for number, where in enumerate(held)]
    for identifier, where in numbered:
        for letter in set(where) & {"a", "b"}:
            table.write(Put({"pk": pk, "sk": f"{letter.upper()}#{identifier}"}))
    beside = [{"pk": pk, "sk": identifier} for identifier, where in numbered if where == "c"]
    rows = RowList(TenantTable(table, "t"), pk, "A#", "B#", extra_rows=beside)
    everything = [identifier for identifier, where in numbered if where]
    expected = page(everything, asked, id_of=lambda one: one, place=lambda one: one)
    assert [rows.id_of(row) for row in rows.page(asked)] == expected
    assert sorted({rows.id_of(row) for row in rows.all()}) == everything


@pytest.mark.parametrize(
    "asked", [Page(limit=5), Page(limit=5, descending=True), Page(limit=5, before="20"), Page(limit=5, after="07")]
)
def test_a_full_page_reads_what_it_shows(table: SqliteTable, asked: Page) -> None:
    filled(table, "t#full", [True] * MOST)
    reads = Reads(table)
    assert len(RowList(TenantTable(reads, "t"), "t#full", PREFIX).page(asked)) == 5
    assert reads.items == 5


def test_a_filtered_list_is_read_in_bounded_pages_until_the_page_is_full(table: SqliteTable) -> None:
    filled(table, "t#filtered", [True] * MOST)
    reads = Reads(table)
    rows = RowList(TenantTable(reads, "t"), "t#filtered", PREFIX)
    assert [
        rows.id_of(row) for row in rows.page(Page(limit=2), lambda found: [one for one in found if number_of(one) % 4 == 3])
    ] == [
        "03",
        "07",
    ]
    assert reads.items < MOST
