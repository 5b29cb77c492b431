"""Texts of PDF, DOCX and HTML files. Runs in the child process; a file that no text can be made of raises ValueError with what to tell.

Knows the formats and their traps: archives that unpack to gigabytes, documents behind a password, pages without text.
"""

from __future__ import annotations

import io
import logging
import re
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from xml.etree import ElementTree

LONGEST_TEXT = 50_000_000
"""Characters that are taken of one file."""
_ALWAYS, _PER_BYTE = 1_000_000, 100
"""Characters that a file of any size may hold, and those beside for each of its bytes: no text that people write is packed tighter."""
LARGEST_XML = 100 * 1024 * 1024
"""Bytes that the text of a DOCX may unpack to."""
MOST_PAGES = 10_000
_PIECE = 1024 * 1024
"""Bytes of XML that are unpacked at once."""


class _Tag:
    """Elements of a document's text (ECMA-376, part 1, chapter 17)."""

    TEXT, TAB, BREAK, RETURN, PARAGRAPH, ROW, CELL, MOVED = (
        f"{{http://schemas.openxmlformats.org/wordprocessingml/2006/main}}{name}"
        for name in ("t", "tab", "br", "cr", "p", "tr", "tc", "moveFrom")
    )
    FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


_UNSEEN = frozenset({_Tag.MOVED, _Tag.FALLBACK})
_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "head"})
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "br",
        "dd",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "td",
        "th",
        "tr",
        "ul",
        "title",
    ]
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\r\n\f]+")
_BLANKS = re.compile(r"\n{3,}")
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{2,40})""", re.IGNORECASE)


def longest_text(size: int) -> int:
    """Characters that are taken of a file of `size` bytes: what it unpacks to is cut up and embedded, which takes far longer."""
    return min(LONGEST_TEXT, _ALWAYS + _PER_BYTE * size)


def pdf_text(data: bytes) -> str:
    """The text of a PDF, page after page."""
    if b"%PDF-" not in data[:1024]:
        raise ValueError("The file is no PDF, whatever its name says.")
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("The PDF is protected by a password. Upload it without one.")
        if len(reader.pages) > MOST_PAGES:
            raise ValueError(f"The PDF has more than {MOST_PAGES} pages.")
        pages, size = [], 0
        for page in reader.pages:
            pages.append(page.extract_text().strip())
            size += len(pages[-1])
            if size > LONGEST_TEXT:
                raise ValueError(f"The PDF holds more than {LONGEST_TEXT} characters.")
    except DependencyError:
        raise ValueError("The PDF is encrypted in a way that cannot be read. Upload it without a password.") from None
    except (PyPdfError, RecursionError, KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"The PDF is damaged ({type(error).__name__}).") from None
    text = "\n\n".join(page for page in pages if page)
    if not text and pages:
        raise ValueError("The PDF holds no text: its pages are images.")
    return text


def docx_text(data: bytes) -> str:
    """The paragraphs of a DOCX; the cells of a table's row stand on one line. Each element is met once, however they are nested."""
    document = _Document()
    parser = ElementTree.XMLParser(target=document)  # noqa: S314  a document type is refused, and the child is bounded
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open("word/document.xml") as file:
            unpacked = 0
            while piece := file.read(_PIECE):
                unpacked += len(piece)
                if unpacked > LARGEST_XML:
                    raise ValueError(f"The DOCX unpacks to more than {LARGEST_XML // 1024 // 1024} MB.")
                parser.feed(piece)
        parser.close()
    except KeyError:
        raise ValueError("The file is no DOCX document, whatever its name says.") from None
    except ElementTree.ParseError:
        raise ValueError("The DOCX is damaged (its text is no XML).") from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError, RuntimeError, NotImplementedError) as error:
        raise ValueError(f"The DOCX is damaged or protected ({type(error).__name__}).") from None
    return "".join(document.found)


class _Document:
    """What the XML parser tells of a document, as text. Nothing of the tree is kept."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._in_text = False
        self._unseen = 0
        """How many elements around this one hold what a reader does not see, or sees elsewhere."""
        self._cells: list[int] = []
        """For each table row around: how many of its cells have begun."""
        self._begun = False
        """Whether the cell, or the document, has a paragraph already."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:  # noqa: ARG002 - the parser's signature
        raise ValueError("The DOCX declares entities, which documents do not.")

    def start(self, tag: str, attrs: dict[str, str]) -> None:  # noqa: ARG002 - the parser's signature
        self._unseen += tag in _UNSEEN
        if self._unseen:
            return
        match tag:
            case _Tag.TEXT:
                self._in_text = True
            case _Tag.TAB:
                self.found.append("\t")
            case _Tag.BREAK | _Tag.RETURN:
                self.found.append("\n")
            case _Tag.PARAGRAPH:
                self._begin()
            case _Tag.ROW:
                self._begin()
                self._cells.append(0)
            case _Tag.CELL if self._cells:
                if self._cells[-1]:
                    self.found.append(" | ")
                self._cells[-1] += 1
                self._begun = False

    def data(self, text: str) -> None:
        if self._in_text:
            self.found.append(text)

    def end(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen -= 1
        elif tag == _Tag.TEXT:
            self._in_text = False
        elif tag == _Tag.ROW and self._cells and not self._unseen:
            self._cells.pop()
            self._begun = True

    def close(self) -> None:
        """The parser asks for it; what is found is read from the outside."""

    def _begin(self) -> None:
        """A paragraph or a row begins: on a line of its own, or within a cell behind a space."""
        if self._begun:
            self.found.append(" " if self._cells else "\n")
        self._begun = True


def html_text(data: bytes) -> str:
    """What a page shows, with headings as in Markdown."""
    reader = _Page()
    reader.feed(_html_source(data))
    reader.close()
    return _BLANKS.sub("\n\n", "\n".join(line.strip() for line in "".join(reader.found).split("\n"))).strip()


def _html_source(data: bytes) -> str:
    """By the mark of its encoding, as UTF-8, or as it declares itself."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        declared = _CHARSET.search(data[:4096])
        try:
            return data.decode(declared.group(1).decode() if declared else "cp1252")
        except (UnicodeDecodeError, LookupError):
            return data.decode("latin-1")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._hidden = 0
        self._title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's signature
        self._hidden += tag in _HIDDEN
        self._title = self._title or tag == "title"
        if tag in _BLOCKS:
            self.found.append("\n" + _HEADINGS.get(tag, "- " if tag == "li" else ""))
        if tag == "body":
            self._hidden = 0  # a head that was never closed

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _HIDDEN))
        self._title = self._title and tag != "title"
        if tag in _BLOCKS:
            self.found.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden or self._title:
            self.found.append(_SPACE.sub(" ", data))


PARSERS: dict[str, Callable[[bytes], str]] = {"pdf": pdf_text, "docx": docx_text, "html": html_text}
