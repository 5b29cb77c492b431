"""Uploaded files before they are parsed: accepted names and types; and their texts in lines and parts.

Pure. Only the part of a name after the last slash counts, so that no upload can name a path.
"""

from __future__ import annotations

import re
from collections.abc import Container
from enum import StrEnum

from hibernaut.schemas.errors import InvalidArgument, UnsupportedMedia

LONGEST_NAME = 255
"""Bytes of a file's or a folder's name, as file systems have it."""
PART = 256 * 1024
"""The approximate size of a text part in characters. Showing a window reads whole parts."""


class FileKind(StrEnum):
    """How a file is converted to text. `PAGE`: the main part of a web page, as Markdown; an uploaded HTML file is read as a
    whole.
    """

    TEXT = "text"
    HTML = "html"
    PAGE = "page"
    PDF = "pdf"
    DOCX = "docx"


class Unreadable(Exception):
    """The file has no readable text. The message states the reason for the sender."""


DOCX_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_KINDS = {
    "application/pdf": FileKind.PDF,
    DOCX_TYPE: FileKind.DOCX,
    "text/html": FileKind.HTML,
    "application/xhtml+xml": FileKind.HTML,
}
_TEXT_TYPES = frozenset(
    "application/" + name
    for name in [
        "json",
        "jsonl",
        "x-jsonlines",
        "x-ndjson",
        "xml",
        "yaml",
        "x-yaml",
        "toml",
        "x-toml",
        "javascript",
        "x-javascript",
        "ecmascript",
        "typescript",
        "x-typescript",
        "sql",
        "graphql",
        "x-sh",
        "x-shellscript",
        "x-python",
        "x-python-code",
        "x-httpd-php",
        "x-ruby",
        "x-perl",
        "x-tex",
        "x-latex",
        "x-java",
        "rtf+plain",
        "ld+json",
        "geo+json",
    ]
)
_BINARY_EXTENSIONS = {
    "pdf": FileKind.PDF,
    "docx": FileKind.DOCX,
    "html": FileKind.HTML,
    "htm": FileKind.HTML,
    "xhtml": FileKind.HTML,
}
_MEDIA_TYPES = {
    "pdf": "application/pdf",
    "docx": DOCX_TYPE,
    "html": "text/html",
    "htm": "text/html",
    "xhtml": "application/xhtml+xml",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "csv": "text/csv",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
}
_TEXT_EXTENSIONS = frozenset(
    [
        "txt",
        "text",
        "md",
        "markdown",
        "rst",
        "adoc",
        "org",
        "tex",
        "log",
        "json",
        "jsonl",
        "ndjson",
        "csv",
        "tsv",
        "xml",
        "yaml",
        "yml",
        "toml",
        "ini",
        "cfg",
        "conf",
        "env",
        "properties",
        "py",
        "pyi",
        "ipynb",
        "js",
        "mjs",
        "cjs",
        "jsx",
        "ts",
        "tsx",
        "vue",
        "svelte",
        "java",
        "kt",
        "kts",
        "scala",
        "groovy",
        "c",
        "h",
        "cc",
        "cpp",
        "cxx",
        "hpp",
        "hh",
        "cs",
        "m",
        "mm",
        "go",
        "rs",
        "rb",
        "php",
        "pl",
        "pm",
        "lua",
        "r",
        "jl",
        "dart",
        "swift",
        "sh",
        "bash",
        "zsh",
        "fish",
        "ps1",
        "bat",
        "cmd",
        "sql",
        "graphql",
        "proto",
        "css",
        "scss",
        "sass",
        "less",
        "hs",
        "elm",
        "ml",
        "clj",
        "ex",
        "exs",
        "erl",
        "nim",
        "zig",
        "tf",
        "hcl",
        "cmake",
        "mk",
        "gradle",
        "dockerfile",
        "makefile",
        "diff",
        "patch",
        "srt",
        "vtt",
    ]
)
_UNTOLD = ("", "application/octet-stream", "binary/octet-stream")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def plain_name(path: str) -> str:
    """The name without its path. Raises: InvalidArgument if no name is left."""
    return _checked(re.split(r"[/\\]", path)[-1].strip())


def chosen_name(path: str) -> str:
    """The name that a caller chooses: a path that leads down, as `src/app.py`, is kept; of any other only the last part is.

    Raises: InvalidArgument if no name is left, or a kept path is no name.
    """
    kept = path.strip()
    leads_down = "\\" not in kept and not any(part.strip() in ("", ".", "..") for part in kept.split("/"))
    return _checked(kept) if leads_down else plain_name(path)


def _checked(name: str) -> str:
    if name in ("", ".", "..") or _CONTROL.search(name) or len(name.encode("utf-8", "replace")) > LONGEST_NAME:
        raise InvalidArgument(f"INVALID_ARGUMENT: A file needs a name of 1 to {LONGEST_NAME} bytes without control characters.")
    return name


def kind_of(name: str, content_type: str | None) -> tuple[FileKind, str]:
    """(parser, media type) of a file, determined by its extension or else by `content_type`. Raises: UnsupportedMedia."""
    declared_type = (content_type or "").split(";")[0].strip().lower()
    extension = name.rpartition("/")[2].rpartition(".")[2].lower()
    kind = _BINARY_EXTENSIONS.get(extension)
    if kind is None and (extension in _TEXT_EXTENSIONS or declared_type.startswith("text/") or declared_type in _TEXT_TYPES):
        kind = _KINDS.get(declared_type, FileKind.TEXT)
    kind = kind or _KINDS.get(declared_type)
    if kind is None:
        raise UnsupportedMedia(
            f"Files of this type cannot be read: {name} ({declared_type or 'no type given'}). "
            "Supported are text, Markdown, code, JSON, CSV, HTML, PDF and DOCX."
        )
    return kind, _MEDIA_TYPES.get(extension) or (declared_type if declared_type not in _UNTOLD else "text/plain")


def free_name(name: str, names: Container[str]) -> str:
    """The name, or the first of `name_(1).ext`, `name_(2).ext`, … that is free."""
    if name not in names:
        return name
    path, slash, last = name.rpartition("/")
    stem, dot, extension = last.rpartition(".") if "." in last[1:] else (last, "", "")
    number = 1
    while True:
        end = f"_({number}){dot}{extension}"
        shortened = stem.encode()[: max(1, LONGEST_NAME - len(f"{path}{slash}{end}".encode()))].decode("utf-8", "ignore")
        if (free := f"{path}{slash}{shortened}{end}") not in names:
            return free
        number += 1


def lines_of(text: str) -> list[str]:
    """The lines of a text, however long. They are numbered as in other programs."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def parts_of(text: str) -> list[str]:
    """The text in parts that end with a line, where one ends in time: the parts one after the other are the text."""
    parts: list[str] = []
    start = 0
    while len(text) - start > PART:
        end = text.rfind("\n", start, start + PART) + 1 or start + PART
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]] if start < len(text) or not parts else parts
