"""Files and patterns that were made by others: read, or refused with a reason, and never for long."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from hibernaut.adapters.files.child_process import ChildFileReader
from hibernaut.adapters.files.parsers import docx_text
from hibernaut.domain.files.file_texts import FileKind, Unreadable
from hibernaut.ports.memory.file_reader import BadPattern, TooSlow
from tests.support import documents

READER = ChildFileReader()
SECONDS = 60.0


def text(data: bytes, kind: FileKind, reader: ChildFileReader = READER, seconds: float = SECONDS) -> str:
    return reader.text(data, kind, seconds=seconds)


def test_the_pages_of_a_pdf_are_read_in_order() -> None:
    assert text(documents.pdf("One", "", "Three"), FileKind.PDF) == "One\n\nThree"


def test_the_paragraphs_and_tables_of_a_docx_are_read() -> None:
    cell = "<w:tc>{}</w:tc>"
    row = f"<w:tr>{cell.format(documents.paragraph('a'))}{cell.format(documents.paragraph('b'))}</w:tr>"
    body = documents.paragraph("First &amp; best") + f"<w:tbl>{row}</w:tbl>" + documents.paragraph("Last")
    assert text(documents.docx(body), FileKind.DOCX) == "First & best\na | b\nLast"


def test_a_table_within_a_table_is_read_once_and_in_its_cell() -> None:
    inner = f"<w:tbl><w:tr><w:tc>{documents.paragraph('b')}</w:tc><w:tc>{documents.paragraph('c')}</w:tc></w:tr></w:tbl>"
    cells = (
        f"<w:tc>{documents.paragraph('a')}{inner}{documents.paragraph('d')}</w:tc><w:tc/><w:tc>{documents.paragraph('e')}</w:tc>"
    )
    body = (
        documents.paragraph("First")
        + f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
        + documents.paragraph("")
        + documents.paragraph("Last")
    )
    assert text(documents.docx(body), FileKind.DOCX) == "First\na b | c d |  | e\n\nLast"


def nested(levels: int) -> bytes:
    """A DOCX of tables within each other, each with one cell beside the next."""
    body = documents.paragraph("inmost")
    for level in range(levels):
        body = f"<w:tbl><w:tr><w:tc>{body}</w:tc><w:tc>{documents.paragraph(f'n{level}')}</w:tc></w:tr></w:tbl>"
    return documents.docx(body)


@pytest.mark.parametrize("levels", [10, 2_000])
def test_tables_within_tables_are_read_in_one_walk(levels: int) -> None:
    """Each row once walked what is within it for each row around: 25 levels in a few hundred bytes took minutes."""
    read = docx_text(nested(levels))
    assert read.split(" | ") == ["inmost", *(f"n{level}" for level in range(levels))]


def test_a_small_file_may_not_unpack_to_endless_text() -> None:
    packed = documents.docx(documents.paragraph("x" * 9_000_000))
    assert len(packed) < 20_000
    with pytest.raises(Unreadable, match="unpacks to more than"):
        text(packed, FileKind.DOCX)


def test_a_file_that_needs_more_computing_than_its_size_allows_is_stopped() -> None:
    with pytest.raises(Unreadable, match="too many seconds"):
        text(documents.bomb_pdf(60_000_000), FileKind.PDF, ChildFileReader(cpu_seconds=1))


def test_what_a_page_shows_is_read_and_what_it_hides_is_not() -> None:
    page = "<title>T</title><style>p{}</style><h2>Head</h2><script>alert(1)</script><ul><li>one<li>two</ul>a<br>b"
    assert text(page.encode(), FileKind.HTML) == "T\n\n## Head\n\n- one\n- two\na\nb"
    assert text("<meta charset=cp1252><p>Köln</p>".encode("cp1252"), FileKind.HTML) == "Köln"
    assert text(b"<p>" * 100_000 + b"deep", FileKind.HTML).strip() == "deep"


@pytest.mark.parametrize(
    ("made", "kind", "why"),
    [
        (lambda: documents.zipped("a", b"0" * 1_000_000), FileKind.PDF, "no PDF"),
        (lambda: b"%PDF-1.4\ngarbage", FileKind.PDF, "damaged"),
        (lambda: documents.pdf("page")[:300], FileKind.PDF, "damaged"),
        (lambda: documents.locked_pdf("page"), FileKind.PDF, "password"),
        (lambda: documents.pdf("", ""), FileKind.PDF, "no text"),
        (lambda: documents.zipped("other.xml", b"x"), FileKind.DOCX, "no DOCX"),
        (lambda: b"PK\x03\x04 no archive", FileKind.DOCX, "damaged"),
        (lambda: documents.zipped("word/document.xml", b"<a><b></a>"), FileKind.DOCX, "no XML"),
        (lambda: documents.zipped("word/document.xml", b" " * 110_000_000), FileKind.DOCX, "more than 100 MB"),
        (lambda: documents.zipped("word/document.xml", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'), FileKind.DOCX, "entities"),
    ],
)
def test_what_cannot_be_read_says_why(made: Callable[[], bytes], kind: FileKind, why: str) -> None:
    """The files are made here and not with the module, which every worker imports: one is 110 MB before it is packed."""
    with pytest.raises(Unreadable, match=why):
        text(made(), kind)


def test_a_page_that_unpacks_to_a_gigabyte_is_an_error_and_takes_nobody_along() -> None:
    with pytest.raises(Unreadable):
        text(documents.bomb_pdf(1_000_000_000), FileKind.PDF)


def test_a_reader_without_memory_is_an_error() -> None:
    with pytest.raises(Unreadable):
        text(
            documents.docx(documents.paragraph(random.Random(1).randbytes(20_000_000).hex())),
            FileKind.DOCX,
            ChildFileReader(memory=100_000_000),
        )


def test_a_file_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(Unreadable, match="seconds"):
        text(documents.bomb_pdf(60_000_000), FileKind.PDF, seconds=0.3)


def test_lines_are_found_in_whatever_case_up_to_a_limit() -> None:
    lines = ["an Owl", "a duck", "OWLS", "", "owl"]
    assert READER.matching(lines, r"^(an )?owls?$", seconds=SECONDS, most=9) == [0, 2, 4]
    assert READER.matching(lines, "owl", seconds=SECONDS, most=2) == [0, 2]
    assert READER.matching(["ü\ud800"], "ü", seconds=SECONDS, most=2) == [0]


@pytest.mark.parametrize("pattern", ["(", "a{1,99999999999}", "(?P<a>x)(?P<a>y)", "*"])
def test_what_is_no_pattern_says_so(pattern: str) -> None:
    with pytest.raises(BadPattern):
        READER.matching(["a"], pattern, seconds=SECONDS, most=1)


def test_a_pattern_that_would_never_end_is_stopped() -> None:
    with pytest.raises(TooSlow):
        READER.matching(["a" * 60 + "b"], "(a+)+$", seconds=0.5, most=1)


# web pages

PARAGRAPH = (
    "Parrots are found on all tropical and subtropical continents, and in regions like Australia, Oceania and South Asia. "
)
ARTICLE = f"""<!doctype html><html><head><title>Parrots and their kin | Bird Site</title><style>p {{}}</style></head><body>
<header class=masthead><nav><ul><li><a href=/>Home</a></li><li><a href=/shop>Shop</a></li></ul></nav></header>
<main><article><header><h1>Parrots and their kin</h1></header><p>{PARAGRAPH * 2}</p><h2>Food</h2>
<p>They eat <a href=/seeds>seeds</a>, nuts and <b>fruit</b>. {PARAGRAPH}</p><ul><li>grasses</li><li>nectar</li></ul>
<table><thead><tr><th>Species</th><th>Length</th></tr></thead><tbody><tr><td>Kea</td><td>48 cm</td></tr></tbody></table>
<p>{PARAGRAPH}</p><pre><code>def parrot(n):
    return n + 1
</code></pre></article></main>
<aside class=sidebar><h3>Related</h3><a href=/x>Buy our seed</a></aside><footer>Copyright 2026.</footer><script>track()</script></body></html>"""


def markdown(page: str | bytes) -> str:
    data = page if isinstance(page, bytes) else page.encode()
    return READER.text(data, FileKind.PAGE, seconds=SECONDS, address="https://birds.example/parrots/")


def test_the_main_part_of_a_web_page_is_markdown() -> None:
    text = markdown(ARTICLE)
    for part in (
        "# Parrots and their kin",
        "## Food",
        "They eat [seeds](https://birds.example/seeds), nuts and **fruit**.",
        "- grasses\n- nectar",
        "| Species | Length |\n| --- | --- |\n| Kea | 48 cm |",
        "```\ndef parrot(n):\n    return n + 1\n```",
    ):
        assert part in text
    assert [around for around in ("Home", "Shop", "Related", "Copyright", "track()") if around in text] == []


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<title>Short</title><p>One line.</p>", "# Short\n\nOne line."),
        (
            "<ul>" + "".join(f"<li><a href=/{at}>entry {at}</a></li>" for at in range(3)) + "</ul>",
            "\n".join(f"- [entry {at}](https://birds.example/{at})" for at in range(3)),
        ),
        ('<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>é</p></body></html>', "é"),
        ("no markup at all", "no markup at all"),
        ("<p>a_b and *c*</p>", "a_b and \\*c\\*"),
        ("", ""),
        ("<html></html>", ""),
        (b"\x00\xff\xfe<p>odd</p>", None),
        ("<div>" * 20_000 + "deep", None),
        ("<p" * 5_000, None),
    ],
)
def test_any_page_is_read(page: str | bytes, text: str | None) -> None:
    found = markdown(page)
    assert text is None or found == text


def test_a_long_page_is_returned_as_its_whole_text() -> None:
    page = f"<h1>Log</h1><nav>Home</nav>{('<p>' + 'entry ' * 200) * 3000}"
    assert markdown(page).startswith("# Log\n\nHome\n\nentry")
