"""Names, types and texts of files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.files import file_texts
from hibernaut.domain.files.file_texts import FileKind, chosen_name, free_name, kind_of, lines_of, parts_of, plain_name
from hibernaut.schemas.errors import InvalidArgument, UnsupportedMedia


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [("a.txt", "a.txt"), ("../../a.txt", "a.txt"), ("C:\\temp\\a.txt", "a.txt"), (" a b.txt ", "a b.txt"), ("ü/é.md", "é.md")],
)
def test_a_name_is_what_stands_behind_the_last_slash(given_name: str, kept: str) -> None:
    assert plain_name(given_name) == kept


@pytest.mark.parametrize("bad", ["", "/", "..", "a/..", ".", "a\0b", "a\nb", "x" * 256, "ü" * 128])
def test_a_name_that_is_none_is_refused(bad: str) -> None:
    for read in (plain_name, chosen_name):
        with pytest.raises(InvalidArgument):
            read(bad)


@pytest.mark.parametrize(
    ("chosen", "kept"),
    [
        ("a.txt", "a.txt"),
        (" src/app.py ", "src/app.py"),
        ("docs/v1.2/README", "docs/v1.2/README"),
        ("../../a.txt", "a.txt"),
        ("src/../a.txt", "a.txt"),
        ("/etc/a.txt", "a.txt"),
        ("src//a.txt", "a.txt"),
        ("src/ /a.txt", "a.txt"),
        ("src\\sub/a.txt", "a.txt"),
    ],
)
def test_a_chosen_name_keeps_its_path_if_the_path_leads_down(chosen: str, kept: str) -> None:
    assert chosen_name(chosen) == kept


def test_a_path_is_refused_as_a_whole_if_it_is_too_long_or_has_a_control_character() -> None:
    for bad in ("a" * 250 + "/b.txt", "a\n/b.txt"):
        with pytest.raises(InvalidArgument):
            chosen_name(bad)


@pytest.mark.parametrize(
    ("name", "said", "kind", "media_type"),
    [
        ("a.pdf", "application/octet-stream", FileKind.PDF, "application/pdf"),
        ("a.PDF", None, FileKind.PDF, "application/pdf"),
        ("noending", "application/pdf", FileKind.PDF, "application/pdf"),
        ("a.py", "text/x-python", FileKind.TEXT, "text/x-python"),
        ("README", "text/plain; charset=utf-8", FileKind.TEXT, "text/plain"),
        ("a.htm", "text/plain", FileKind.HTML, "text/html"),
        ("a.md", "", FileKind.TEXT, "text/markdown"),
    ],
)
def test_the_ending_says_what_a_file_is_and_else_its_sender(name: str, said: str | None, kind: FileKind, media_type: str) -> None:
    assert kind_of(name, said) == (kind, media_type)


@pytest.mark.parametrize(
    ("name", "said"), [("a.exe", "application/octet-stream"), ("a.png", "image/png"), ("a", None), ("v1.md/LICENSE", None)]
)
def test_what_cannot_be_read_is_refused(name: str, said: str | None) -> None:
    with pytest.raises(UnsupportedMedia):
        kind_of(name, said)


def test_a_taken_name_gets_a_number() -> None:
    assert free_name("a.txt", ()) == "a.txt"
    assert free_name("a.txt", {"a.txt", "a_(1).txt"}) == "a_(2).txt"
    assert free_name("noending", {"noending"}) == "noending_(1)"
    assert free_name(".env", {".env"}) == ".env_(1)"
    assert free_name("v1.2/README", {"v1.2/README"}) == "v1.2/README_(1)"
    assert free_name("src/.env", {"src/.env"}) == "src/.env_(1)"
    assert free_name("src/app.py", {"src/app.py", "src/app_(1).py"}) == "src/app_(2).py"
    long = "ü" * 125 + ".txt"
    assert len(free_name(long, {long}).encode()) <= file_texts.LONGEST_NAME


def test_a_line_is_one_however_long_it_is() -> None:
    assert lines_of("word " * 1_000 + "\nshort\n\nend\n") == ["word " * 1_000, "short", "", "end"]
    assert lines_of("") == []


@given(st.lists(st.text("ab \n", max_size=40), max_size=30).map("".join))
def test_the_parts_of_a_text_are_the_text_and_end_with_a_line_where_one_ends(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_texts, "PART", 24)
        parts = parts_of(text)
        assert "".join(parts) == text
        assert all(part.endswith("\n") or "\n" not in part for part in parts[:-1])
