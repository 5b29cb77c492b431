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
LARGEST_XML = 100 * 1024 * 1024
"""Bytes that the text of a DOCX may unpack to."""
MOST_PAGES = 10_000
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
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
    """The paragraphs of a DOCX; the cells of a table's row stand on one line."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open("word/document.xml") as file:
            xml = file.read(LARGEST_XML + 1)
    except KeyError:
        raise ValueError("The file is no DOCX document, whatever its name says.") from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError, RuntimeError, NotImplementedError) as error:
        raise ValueError(f"The DOCX is damaged or protected ({type(error).__name__}).") from None
    if len(xml) > LARGEST_XML:
        raise ValueError(f"The DOCX unpacks to more than {LARGEST_XML // 1024 // 1024} MB.")
    if b"<!DOCTYPE" in xml[:4096] or b"<!ENTITY" in xml:
        raise ValueError("The DOCX declares entities, which documents do not.")
    try:
        body = ElementTree.fromstring(xml).find(f"{_WORD}body")  # noqa: S314  no entities, in a bounded child
    except ElementTree.ParseError:
        raise ValueError("The DOCX is damaged (its text is no XML).") from None
    return "\n".join(_docx_blocks(body)) if body is not None else ""


def _docx_blocks(parent: ElementTree.Element) -> list[str]:
    found = []
    for child in parent:
        if child.tag == f"{_WORD}p":
            found.append(_docx_paragraph(child))
        elif child.tag == f"{_WORD}tbl":
            for row in child.iter(f"{_WORD}tr"):
                cells = (" ".join(_docx_paragraph(part) for part in cell.iter(f"{_WORD}p")) for cell in row.iter(f"{_WORD}tc"))
                found.append(" | ".join(cells))
        elif child.tag == f"{_WORD}sdt":
            content = child.find(f"{_WORD}sdtContent")
            found += _docx_blocks(content) if content is not None else []
    return found


def _docx_paragraph(paragraph: ElementTree.Element) -> str:
    parts = []
    for node in paragraph.iter():
        if node.tag == f"{_WORD}t":
            parts.append(node.text or "")
        elif node.tag == f"{_WORD}tab":
            parts.append("\t")
        elif node.tag in (f"{_WORD}br", f"{_WORD}cr"):
            parts.append("\n")
    return "".join(parts)


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
