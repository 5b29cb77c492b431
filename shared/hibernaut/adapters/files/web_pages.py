"""The main part of a web page as Markdown, in the child process. Knows the extractor (readability) and the converter
(markdownify).
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from hibernaut.adapters.files.parsers import html_source, html_text

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

LARGEST_ARTICLE = 3_000_000
"""The largest page in bytes for the extraction of its main part. A larger page, such as a listing or a book, is returned as a
whole.
"""
LEAST_SHARE = 0.3
"""The part of a page's text that its main part must have. A smaller one is a wrong guess: short pages and lists of links have no
main part.
"""
_AROUND = ("aside", "footer", "form", "header", "iframe", "nav", "noscript", "script", "style", "svg", "template")
"""Elements around the content of a page. An article has a header and a footer of its own, which belong to it."""
_BLANKS = re.compile(r"\n{3,}")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


def page_markdown(data: bytes, address: str = "") -> str:
    """The page as Markdown, without images and what surrounds its content. `address`: where it is from, by which its links are
    completed.
    """
    whole = html_text(data)
    if len(data) > LARGEST_ARTICLE:
        return whole
    try:
        content = _content(html_source(data), address)
        title, part = _main_part(content)
        text = _markdown(part) if part is not None else ""
        if len(text) < LEAST_SHARE * len(whole):
            text = _markdown(content.body or content)
    except RecursionError:
        return whole
    text = text or whole
    return text if not title or title in text[: 2 * len(title) + 100] else f"# {title}\n\n{text}"


def _content(source: str, address: str) -> BeautifulSoup:
    """The page without what surrounds its content, and with whole links."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(source, "lxml")
    for element in soup(_AROUND):
        if element.name not in ("header", "footer") or element.find_parent(("article", "main")) is None:
            element.decompose()
    for link in soup("a", href=True):
        with suppress(ValueError):  # a link may be anything
            link["href"] = urljoin(address, str(link["href"]))
    return soup


def _main_part(content: BeautifulSoup) -> tuple[str, Tag | None]:
    """The title of a page, and its main part: what it marks as such, else what the extractor finds."""
    from bs4 import BeautifulSoup
    from lxml.etree import LxmlError
    from readability import Document
    from readability.readability import Unparseable

    articles = content("article")
    marked = content.find("main") or (articles[0] if len(articles) == 1 else None)
    try:
        document = Document(str(content))
        title: str = document.short_title() or ""
        return title, marked or BeautifulSoup(document.summary(html_partial=True), "lxml")
    except (Unparseable, LxmlError, ValueError, TypeError, AttributeError, IndexError):  # a page may be anything
        return "", marked


def _markdown(soup: Tag) -> str:
    from markdownify import MarkdownConverter

    converter = MarkdownConverter(heading_style="ATX", bullets="-", strip=["img"], escape_misc=False, escape_underscores=False)
    text: str = converter.convert_soup(soup)
    return _BLANKS.sub("\n\n", _TRAILING.sub("", text)).strip()
