"""The pages of a package index: the wheels of a project for this Python and this machine (PEP 503, 592, 629, 658, 691, 700, 714).

Pages are untrusted input: every field is validated, and invalid ones are omitted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from hibernaut.adapters.packages.target import WheelTarget
from hibernaut.schemas.base import Json
from hibernaut.schemas.faults.package_faults import PackageIndexUnavailable
from hibernaut.schemas.immutable import immutable

if TYPE_CHECKING:
    from packaging.version import Version

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
RETRY = 30.0
"""Seconds after which the same request may find the index well."""
_JSON = "application/vnd.pypi.simple.v1+json"
_SHA256 = re.compile(r"[0-9a-f]{64}")


@immutable
class Wheel:
    """A wheel of the index that fits. `sha256`, `size`: as the index says them, None if it does not. `metadata`: its METADATA is
    a file of its own, `metadata_sha256` that file's hash. `rank`: smaller fits better.
    """

    project: str
    version: Version
    file: str
    url: str
    sha256: str | None = None
    size: int | None = None
    metadata: bool = False
    metadata_sha256: str | None = None
    yanked: bool = False
    rank: tuple[int, ...] = ()


@dataclass(slots=True)
class Project:
    """A project of the index. `wheels`: the best one of each version; `unfit`: versions of which no file is a wheel that fits."""

    name: str
    wheels: dict[Version, Wheel] = field(default_factory=dict)
    unfit: set[Version] = field(default_factory=set)


@dataclass(slots=True)
class _Link:
    file: str
    url: str
    sha256: str | None = None
    size: int | None = None
    python: str = ""
    metadata: bool = False
    metadata_sha256: str | None = None
    yanked: bool = False


def project_of(name: str, data: bytes, kind: str, url: str, target: WheelTarget) -> Project:
    """The project of a page. `kind`: the content type of the answer, `url`: where it is from. Raises: PackageIndexUnavailable."""
    project = Project(name)
    for link in _json_links(data, url) if kind.partition(";")[0].strip().lower() == _JSON else _html_links(data, url):
        _sort(project, link, target)
    project.unfit -= project.wheels.keys()
    return project


def _sort(project: Project, link: _Link, target: WheelTarget) -> None:
    """Classify a file of a page. Files of other projects are omitted."""
    from packaging.utils import (
        InvalidSdistFilename,
        InvalidWheelFilename,
        canonicalize_name,
        parse_sdist_filename,
        parse_wheel_filename,
    )

    if not link.file.endswith(".whl"):
        try:
            name, version = parse_sdist_filename(link.file)
        except InvalidSdistFilename:
            return
        if canonicalize_name(name) == project.name:
            project.unfit.add(version)
        return
    try:
        name, version, build, tags = parse_wheel_filename(link.file)
    except InvalidWheelFilename:
        return
    if name != project.name:
        return
    rank = target.rank(tags)
    if rank is None or not target.admits(link.python):
        project.unfit.add(version)
        return
    wheel = Wheel(
        name,
        version,
        link.file,
        link.url,
        link.sha256,
        link.size,
        link.metadata,
        link.metadata_sha256,
        link.yanked,
        (rank, -build[0] if build else 0),
    )
    there = project.wheels.get(version)
    if there is None or wheel.rank < there.rank:
        project.wheels[version] = wheel


def _json_links(data: bytes, url: str) -> Iterator[_Link]:
    try:
        page: Json = json.loads(data)
    except (ValueError, RecursionError):
        raise _unreadable("is no JSON") from None
    match page:
        case {"meta": {"api-version": str(version)}, "files": list(files)} if version.partition(".")[0] == "1":
            for one in files:
                if isinstance(one, dict) and (link := _json_link(one, url)) is not None:
                    yield link
        case _:
            raise _unreadable("is not of version 1 of the simple API")


def _json_link(one: Mapping[str, Json], url: str) -> _Link | None:
    file, address, hashes, size = one.get("filename"), one.get("url"), one.get("hashes"), one.get("size")
    if not isinstance(file, str) or not isinstance(address, str):
        return None
    metadata = one.get("core-metadata", one.get("dist-info-metadata", False))
    return _Link(
        file,
        urljoin(url, address),
        _sha256(hashes.get("sha256")) if isinstance(hashes, dict) else None,
        size if isinstance(size, int) and size >= 0 else None,
        str(one.get("requires-python") or ""),
        bool(metadata),
        _sha256(metadata.get("sha256")) if isinstance(metadata, dict) else None,
        bool(one.get("yanked", False)),
    )


class _Anchors(HTMLParser):
    """The anchors of a page of PEP 503."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append(dict(attrs))


def _html_links(data: bytes, url: str) -> Iterator[_Link]:
    anchors = _Anchors()
    anchors.feed(data.decode("utf-8", "replace"))
    for one in anchors.found:
        address, mark, fragment = (one.get("href") or "").partition("#")
        file = urlsplit(address).path.rpartition("/")[2]
        metadata = one.get("data-core-metadata", one.get("data-dist-info-metadata"))
        yield _Link(
            file,
            urljoin(url, address),
            _sha256(fragment.removeprefix("sha256=") if mark else None),
            None,
            one.get("data-requires-python") or "",
            metadata is not None,
            _sha256((metadata or "").removeprefix("sha256=")),
            "data-yanked" in one,
        )


def _sha256(digest: Json) -> str | None:
    return digest.lower() if isinstance(digest, str) and _SHA256.fullmatch(digest.lower()) else None


def _unreadable(what: str) -> PackageIndexUnavailable:
    return PackageIndexUnavailable(f"The page of the package index {what}. Check HIBERNAUT_PACKAGE_INDEX.", RETRY)
