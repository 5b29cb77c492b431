"""Extracts the text of PDF, DOCX and HTML files in the child process. A file without readable text raises ValueError with a
message for the sender.

Knows the formats and their hazards: archives that expand to gigabytes, password-protected documents, pages without text.
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
"""The largest extracted text of one file in characters."""
_ALWAYS, _PER_BYTE = 1_000_000, 100
"""The base limit of a file's text in characters, and the additional limit for each of its bytes: no human-written text is
compressed more tightly.
"""
LARGEST_XML = 100 * 1024 * 1024
"""The largest size in bytes to which a DOCX may expand."""
MOST_PAGES = 10_000
_PIECE = 1024 * 1024
"""The bytes of XML that are unpacked at once."""


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
    """The limit in characters for the text of a file of `size` bytes, because splitting and embedding take far longer than
    unpacking.
    """
    return min(LONGEST_TEXT, _ALWAYS + _PER_BYTE * size)


def pdf_text(data: bytes) -> str:
    """The text of a PDF, page by page."""
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
    """The paragraphs of a DOCX; the cells of a table row are on one line. Each element is visited once, however deeply it is
    nested.
    """
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
    """The target of the XML parser, which collects a document's text. No tree is built."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._in_text = False
        self._unseen = 0
        """The number of enclosing elements with content that is hidden or part of another text."""
        self._cells: list[int] = []
        """For each enclosing table row: the number of its cells so far."""
        self._begun = False
        """Whether the cell, or the document, already has a paragraph."""

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
        """The parser requires this method; the result is read from the attributes."""

    def _begin(self) -> None:
        """Begin a paragraph or a row: on a new line, or after a space within a cell."""
        if self._begun:
            self.found.append(" " if self._cells else "\n")
        self._begun = True


def html_text(data: bytes) -> str:
    """The visible text of a page, with headings as in Markdown."""
    reader = _Page()
    reader.feed(html_source(data))
    reader.close()
    return _BLANKS.sub("\n\n", "\n".join(line.strip() for line in "".join(reader.found).split("\n"))).strip()


def html_source(data: bytes) -> str:
    """The decoded page: by its byte order mark, as UTF-8, or by its declared encoding."""
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
    """The HTML parser, which collects a page's visible text."""

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
            self._hidden = 0  # the head was never closed

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _HIDDEN))
        self._title = self._title and tag != "title"
        if tag in _BLOCKS:
            self.found.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden or self._title:
            self.found.append(_SPACE.sub(" ", data))


PARSERS: dict[str, Callable[[bytes], str]] = {"pdf": pdf_text, "docx": docx_text, "html": html_text}
