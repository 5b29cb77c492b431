"""The files of the console, which is a folder of the package: its page, style sheets and modules.

The page names its files below a digest of all of them, so that browsers may keep a file for good and a new release is a new
address. Knows the folder; must not know what the console shows.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath

from fastapi import Response
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers

from hibernaut.schemas.base import Json

FOLDER = Path(__file__).parents[2] / "console"
PAGE = "index.html"
PLACE = b"{files}"
"""What stands for the digest in the page."""
DIGITS = 16
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The Content-Security-Policy of the page: files and requests of its own origin, images within messages, no markup from
strings.
"""
_SHARED = {"cross-origin-resource-policy": "same-origin", "referrer-policy": "no-referrer"}
_PAGE_HEADERS = {
    **_SHARED,
    "cache-control": "no-cache",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
}
_FILE_HEADERS = {**_SHARED, "cache-control": "public, max-age=31536000, immutable"}
MISSING: Json = {
    "detail": "NOT_FOUND: The console has no such file. After an update of the server, load the page again.",
    "code": "not_found",
}


@cache
def files() -> dict[str, bytes]:
    """The content of each file by its path below the folder, read once in a process."""
    found = sorted(path for path in FOLDER.rglob("*") if path.suffix in TYPES)
    return {str(PurePosixPath(*path.relative_to(FOLDER).parts)): path.read_bytes() for path in found}


@cache
def digest() -> str:
    """The digest of all files."""
    hasher = sha256()
    for name, content in files().items():
        hasher.update(f"{name}\0{len(content)}\0".encode() + content)
    return hasher.hexdigest()[:DIGITS]


def are_read() -> bool:
    """Whether the files are in memory, so that `answer` reads no file."""
    return digest.cache_info().currsize > 0


def answer(path: str, headers: Headers) -> Response:
    """The reply to a request for a path below the console: empty for the page, else `<digest>/<file>`."""
    if path == "":
        etag = f'"{digest()}"'
        is_current = etag in [one.strip().removeprefix("W/") for one in headers.get("if-none-match", "").split(",")]
        page = b"" if is_current else files()[PAGE].replace(PLACE, digest().encode())
        return Response(page, 304 if is_current else 200, {**_PAGE_HEADERS, "etag": etag}, TYPES[".html"])
    release, _, name = path.partition("/")
    content = files().get(name) if release == digest() and name != PAGE else None
    if content is None:
        return JSONResponse(MISSING, 404, {"cache-control": "no-store"})
    return Response(content, 200, _FILE_HEADERS, TYPES[PurePosixPath(name).suffix])
