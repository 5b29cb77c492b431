"""Windows on files, and what is closed to make room."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.files import file_views
from hibernaut.domain.files.file_views import ShownFile, ShownFolder, view_of
from hibernaut.schemas.memory.file import Desk, OpenFile

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def opened_at(minutes: int) -> OpenFile:
    return OpenFile(accessed=NOW + timedelta(minutes=minutes))


def test_a_view_from_the_start_says_so_and_numbers_its_lines() -> None:
    view = view_of(["one", "", "three"], start=0, total=3, limit=1000, whole=True)
    assert view.text == "[Viewing file start (out of 3 lines)]\n1: one\n2: \n3: three"
    assert (view.first, view.last) == (1, 3)


def test_a_window_names_its_lines() -> None:
    view = view_of(["six", "seven"], start=5, total=9, limit=1000, whole=False)
    assert view.text == "[Viewing lines 6 to 7 (out of 9 lines)]\n6: six\n7: seven"
    assert (view.first, view.last) == (6, 7)


def test_an_overlong_view_is_cut_to_its_limit_and_says_so() -> None:
    view = view_of(["x" * 50] * 100, start=0, total=100, limit=400, whole=True)
    assert len(view.text) <= 400
    assert view.text.endswith(f"{file_views.TRUNCATED}\n{file_views.CUT}")
    assert 1 < view.last < 10


def test_an_empty_file_has_an_empty_view() -> None:
    assert view_of([], start=0, total=0, limit=100, whole=True).last == 0


def test_the_file_that_was_looked_at_longest_ago_is_closed() -> None:
    desk = Desk(open={"a": opened_at(1), "b": opened_at(0), "c": opened_at(2)})
    cleared = file_views.opened(desk, {"d": opened_at(5)}, most=3, attached="abcd")
    assert cleared.evicted == ("b",)
    assert set(cleared.desk.open) == {"a", "c", "d"}
    assert cleared.desk.last_accessed == {"b": NOW}


def test_what_is_open_already_takes_no_room() -> None:
    desk = Desk(open={"a": opened_at(1), "b": opened_at(0)})
    cleared = file_views.opened(desk, {"b": OpenFile(start=7, accessed=NOW)}, most=2, attached="ab")
    assert (cleared.evicted, cleared.desk.open["b"].start) == ((), 7)


def test_others_are_closed_where_that_is_asked_for() -> None:
    desk = Desk(open={"a": opened_at(1), "b": opened_at(0)})
    cleared = file_views.opened(desk, {"c": opened_at(2)}, most=5, attached="abc", close_others=True)
    assert (set(cleared.requested), cleared.evicted, set(cleared.desk.open)) == ({"a", "b"}, (), {"c"})


def test_a_lowered_limit_is_kept_at_the_next_opening() -> None:
    desk = Desk(open={name: opened_at(place) for place, name in enumerate("abcd")})
    cleared = file_views.opened(desk, {"e": opened_at(9)}, most=2, attached="abcde")
    assert (cleared.evicted, set(cleared.desk.open)) == (("a", "b", "c"), {"d", "e"})


def test_filling_opens_what_fits_and_closes_nothing() -> None:
    desk = Desk(open={"a": opened_at(0), "gone": opened_at(1)})
    full = file_views.filled(desk, ["b", "c", "d"], most=3, attached="abcd", now=NOW)
    assert set(full.open) == {"a", "b", "c"}


def test_what_was_found_is_closed_last() -> None:
    desk = Desk(open={"a": opened_at(0), "b": opened_at(1)})
    touched = file_views.looked_at(desk, {"a", "c"}, NOW + timedelta(hours=1))
    assert file_views.opened(touched, {"d": opened_at(99)}, most=2, attached="abcd").evicted == ("b",)
    assert set(touched.last_accessed) == {"c"}


@given(st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3, unique=True), max_size=12), st.integers(3, 5))
def test_no_more_files_are_open_than_may_be_and_those_that_were_wanted_are(openings: list[list[str]], most: int) -> None:
    desk = Desk()
    for minute, names in enumerate(openings):
        cleared = file_views.opened(desk, {name: opened_at(minute) for name in names}, most=most, attached="abcdef")
        assert len(cleared.desk.open) <= most
        assert set(names) <= set(cleared.desk.open)
        assert set(cleared.evicted) == set(desk.open) - set(cleared.desk.open)
        desk = cleared.desk


def test_the_section_shows_folders_and_files_in_lettas_form() -> None:
    files = [ShownFile("f/a.txt", 3, "[Viewing file start (out of 1 lines)]\n1: abc"), ShownFile("f/b.txt", 9, None)]
    section = file_views.directories([ShownFolder("f", "About.", None, files)], most=5, limit=100)
    assert section == (
        "<directories>\n<file_limits>\n- current_files_open=1\n- max_files_open=5\n</file_limits>\n"
        '<directory name="f">\n<description>About.</description>\n'
        '<file status="open" name="f/a.txt">\n<metadata>\n- read_only=true\n- chars_current=44\n- chars_limit=100\n</metadata>\n'
        "<value>\n[Viewing file start (out of 1 lines)]\n1: abc\n</value>\n</file>\n"
        '<file status="closed" name="f/b.txt">\n<metadata>\n- read_only=true\n- chars_current=0\n- chars_limit=100\n</metadata>\n</file>\n'
        "</directory>\n</directories>"
    )
    assert file_views.directories([], most=5, limit=100) is None
