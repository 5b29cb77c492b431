"""Ranges of one partition, on every engine."""

from __future__ import annotations

import itertools

import pytest

from hibernaut.ports.storage.table import Index, Key, Put, Query, Table, Update

# In the order of their code points, which is that of their UTF-8 bytes and not that of UTF-16 or of any language.
ORDERED = [
    "\x01",
    " ",
    "A",
    "Z",
    "a",
    "a!",
    "a-1",
    "a-10",
    "a-2",
    "ab",
    "b",
    "z",
    "é",
    "ü",
    "ﬀ",
    "\ufffd",
    "\U0001f980",
    "\U0010ffff",
]


def fill(table: Table, keys: list[str], pk: str = "T#a") -> None:
    table.write(*(Put({"pk": pk, "sk": sk, "n": number}) for number, sk in enumerate(keys)))


def keys(table: Table, **asked: object) -> list[str]:
    return [str(item["sk"]) for item in table.query("T#a", **asked)]  # type: ignore[arg-type]


def test_items_come_in_the_order_of_their_code_points(table: Table) -> None:
    fill(table, sorted(ORDERED, reverse=True))
    assert keys(table) == ORDERED
    assert keys(table, descending=True) == ORDERED[::-1]


def test_a_partition_holds_its_own_items_only(table: Table) -> None:
    fill(table, ["1"], "T#a")
    fill(table, ["2"], "T#a#b")
    fill(table, ["3"], "T#")
    assert keys(table) == ["1"]


def test_after_and_before_leave_themselves_out(table: Table) -> None:
    fill(table, ["1", "2", "3", "4"])
    assert keys(table, after="2") == ["3", "4"]
    assert keys(table, before="3") == ["1", "2"]
    assert keys(table, after="1", before="4") == ["2", "3"]
    assert keys(table, after="1", before="2") == []
    assert keys(table, after="3", before="2") == []
    assert keys(table, after="2", before="2") == []


def test_bounds_need_not_be_keys_that_exist(table: Table) -> None:
    fill(table, ["1", "3", "5"])
    assert keys(table, after="2") == ["3", "5"]
    assert keys(table, after="2", before="4") == ["3"]


def test_bounds_without_text_are_the_beginning(table: Table) -> None:
    fill(table, ["1", "2"])
    assert keys(table, after="") == ["1", "2"]
    assert keys(table, before="") == []


@pytest.mark.parametrize("prefix", ["a", "a-", "a-1", "é", "\U0001f980", "\U0010ffff", "\ud7ff", "missing"])
def test_a_prefix_takes_all_that_begin_with_it(table: Table, prefix: str) -> None:
    fill(table, [*ORDERED, "\ud7ffx", "\ue000"])
    assert keys(table, prefix=prefix) == sorted(sk for sk in [*ORDERED, "\ud7ffx", "\ue000"] if sk.startswith(prefix))


def test_prefix_bounds_limit_and_direction_go_together(table: Table) -> None:
    stored = ["a", "aa", "b", "b-", "b-1", "b-2", "b-3", "b-4", "b.", "c"]
    fill(table, stored)
    choices = itertools.product(
        (None, "a", "b-", "b-2", "b-25", "c"), (None, "b-", "b-3", "b.", "d"), ("", "b-"), (None, 1, 2, 9), (False, True)
    )
    for after, before, prefix, limit, descending in choices:
        expected = [
            sk for sk in stored if (after is None or sk > after) and (before is None or sk < before) and sk.startswith(prefix)
        ]
        expected = (expected[::-1] if descending else expected)[:limit]
        asked = {"after": after, "before": before, "prefix": prefix, "limit": limit, "descending": descending}
        assert keys(table, **asked) == expected, asked


def test_a_limit_of_nothing_finds_nothing(table: Table) -> None:
    fill(table, ["1"])
    assert keys(table, limit=0) == []


def test_the_pages_of_a_list_join_without_gap_or_overlap(table: Table) -> None:
    fill(table, [f"{number:02}" for number in range(25)])
    seen: list[str] = []
    for _ in range(4):
        seen += keys(table, after=seen[-1] if seen else None, limit=10)
    assert seen == [f"{number:02}" for number in range(25)]


def test_only_the_names_that_were_asked_for_come_back_with_the_key(table: Table) -> None:
    table.write(Put({"pk": "T#a", "sk": "1", "n": 1, "s": "x", "body": "b"}), Put({"pk": "T#a", "sk": "2", "s": "y"}))
    assert table.query("T#a", names=("s", "n")) == [
        {"pk": "T#a", "sk": "1", "n": 1, "s": "x"},
        {"pk": "T#a", "sk": "2", "s": "y"},
    ]
    assert table.query("T#a", names=("body",)) == [{"pk": "T#a", "sk": "1", "body": "b"}, {"pk": "T#a", "sk": "2"}]
    assert table.query("T#a", names=("sk",)) == [{"pk": "T#a", "sk": "1"}, {"pk": "T#a", "sk": "2"}]


def test_a_query_reads_more_than_a_megabyte(table: Table) -> None:
    for number in range(8):
        table.write(Put({"pk": "T#a", "sk": f"{number}", "n": number, "body": "x" * 300_000}))
    assert [len(str(item["body"])) for item in table.query("T#a")] == [300_000] * 8
    assert [item["n"] for item in table.query("T#a", names=("n",), descending=True)] == list(range(7, -1, -1))
    assert keys(table, after="0", before="7", limit=5) == ["1", "2", "3", "4", "5"]


def test_what_was_written_is_seen_by_the_next_read(table: Table) -> None:
    for number in range(20):
        table.write(Update(Key("T#a", "1"), set={"n": number}))
        assert table.get(Key("T#a", "1")) == {"pk": "T#a", "sk": "1", "n": number}
        assert table.query("T#a") == [{"pk": "T#a", "sk": "1", "n": number}]


def test_what_was_read_is_the_reader_s_own(table: Table) -> None:
    fill(table, ["1"])
    for found in (table.get(Key("T#a", "1")), table.query("T#a")[0]):
        assert isinstance(found, dict)
        found["n"] = 99
    assert table.query("T#a") == [{"pk": "T#a", "sk": "1", "n": 0}]


def test_items_are_counted_without_being_read(table: Table) -> None:
    for number in range(5):
        table.write(Put({"pk": "T#counted", "sk": f"A#{number}", "body": "x"}))
    table.write(Put({"pk": "T#counted", "sk": "A#shell"}), Put({"pk": "T#counted", "sk": "B#1", "name": "b", "size": 1}))
    assert table.count("T#counted") == 7
    assert table.count("T#counted", prefix="A#") == 6
    assert table.count("T#counted", prefix="A#", having="body") == 5
    assert table.count("T#counted", having="name") == 1
    assert table.count("T#counted", having="size") == 1
    assert table.count("T#counted", having="sk") == 7
    assert table.count("T#counted", prefix="C#") == table.count("T#elsewhere") == 0


def test_many_queries_answer_what_each_of_them_does(table: Table) -> None:
    for number in range(12):
        table.write(
            Put({"pk": f"T#many{number % 4}", "sk": f"A#{number:02d}", "n": number, "list_pk": "T#M", "list_sk": f"{number:02d}"})
        )
    queries = [
        *(
            Query(f"T#many{number % 5}", prefix="A#", limit=number % 3 or None, descending=number % 2 == 0)
            for number in range(40)
        ),
        Query("T#M", index=Index.LISTS, after="03", before="09"),
        Query("T#many0", names=("n",)),
        Query("T#many0", after="A#04", before="A#08"),
    ]
    assert table.query_many(queries) == [one.run(table.query) for one in queries]
    assert table.query_many([]) == []
    assert [len(items) for items in table.query_many([Query("T#many1")])] == [3]
