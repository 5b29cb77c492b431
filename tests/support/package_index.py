"""A package index on loopback, which serves wheels that a test makes: the simple API (PEP 503, 691, 700, 714) with its rules.

It answers the normalized name of a project and no other one (PEP 503: "the URL must be normalized"), JSON only to clients that
accept it (PEP 691), and wants its password if it has one. What a test lists differently breaks the rules on purpose.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

JSON = "application/vnd.pypi.simple.v1+json"
MEGABYTE = 1024 * 1024


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def wheel_bytes(
    name: str,
    version: str,
    *,
    requires: Sequence[str] = (),
    extras: Sequence[str] = (),
    files: Mapping[str, bytes | str] | None = None,
    inside: str | None = None,
) -> bytes:
    """A wheel with one module of the package's name, unless `files` are given. `inside`: the name in its METADATA, if another
    one.
    """
    module = normalized(name).replace("-", "_")
    told = ["Metadata-Version: 2.1", f"Name: {inside or name}", f"Version: {version}"]
    told += [f"Provides-Extra: {each}" for each in extras] + [f"Requires-Dist: {each}" for each in requires]
    folder = f"{module}-{version}.dist-info"
    content: dict[str, bytes | str] = dict(files if files is not None else {f"{module}.py": f"version = {version!r}\n"})
    content |= {
        f"{folder}/METADATA": "\n".join(told) + "\n",
        f"{folder}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as out:
        for path, data in {**content, f"{folder}/RECORD": ""}.items():
            out.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


@dataclass
class Served:
    """A file of the index. `listed`: fields of its entry that differ from the truth; `endless`: its body never ends; `metadata`:
    its METADATA is served too.
    """

    project: str
    name: str
    data: bytes
    listed: dict[str, Any] = field(default_factory=dict)
    endless: bool = False
    metadata: bytes | None = None


@dataclass
class PackageIndexServer:
    """The index. `requests`: the paths that were asked for."""

    url: str = ""
    password: str = ""
    html: bool = False
    files: dict[str, Served] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def add(
        self,
        name: str,
        version: str,
        *,
        tag: str = "py3-none-any",
        metadata: bool = True,
        listed: Mapping[str, Any] | None = None,
        endless: bool = False,
        **made: Any,
    ) -> Served:
        """Add a wheel (`wheel_bytes`)."""
        data = wheel_bytes(name, version, **made)
        own = None
        if metadata:
            with zipfile.ZipFile(io.BytesIO(data)) as opened:
                own = next(opened.read(each) for each in opened.namelist() if each.endswith("/METADATA"))
        file = f"{normalized(name).replace('-', '_')}-{version}-{tag}.whl"
        self.files[file] = Served(normalized(name), file, data, dict(listed or {}), endless, own)
        return self.files[file]

    def add_source(self, name: str, version: str) -> None:
        """Add a source distribution, which nobody may build."""
        file = f"{normalized(name).replace('-', '_')}-{version}.tar.gz"
        self.files[file] = Served(normalized(name), file, b"\x1f\x8b")

    def page(self, project: str) -> dict[str, Any]:
        listed = [self._entry(each) for each in self.files.values() if each.project == project]
        return {"meta": {"api-version": "1.1"}, "name": project, "files": listed, "versions": []}

    def _entry(self, file: Served) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "filename": file.name,
            "url": f"../../files/{file.name}",
            "hashes": {"sha256": hashlib.sha256(file.data).hexdigest()},
            "size": len(file.data),
        }
        if file.metadata is not None:
            entry["core-metadata"] = {"sha256": hashlib.sha256(file.metadata).hexdigest()}
        return entry | file.listed

    def html_page(self, project: str) -> str:
        anchors = [
            f'<a href="../../files/{each.name}#sha256={hashlib.sha256(each.data).hexdigest()}" data-requires-python="&gt;=3.8">{each.name}</a>'
            for each in self.files.values()
            if each.project == project
        ]
        return f"<!DOCTYPE html><html><body>{''.join(anchors)}</body></html>"

    def downloads(self) -> list[str]:
        """The wheels that were sent."""
        return [path.rpartition("/")[2] for path in self.requests if path.endswith(".whl")]


class _Handler(BaseHTTPRequestHandler):
    """The answers of `index`."""

    protocol_version = "HTTP/1.1"
    index: PackageIndexServer

    def do_GET(self) -> None:
        self.index.requests.append(self.path)
        if self.index.password:
            told = base64.b64encode(f"user:{self.index.password}".encode()).decode()
            if self.headers.get("authorization") != f"Basic {told}":
                return self._answer(401, b"", "text/plain")
        page = re.fullmatch(r"/simple/([^/]+)/", self.path)
        return self._page(page[1]) if page is not None else self._file()

    def _file(self) -> None:
        own = self.index.files.get(self.path.removeprefix("/files/").removesuffix(".metadata"))
        data = own and (own.metadata if self.path.endswith(".metadata") else own.data)
        if own is None or data is None:
            return self._answer(404, b"", "text/plain")
        if own.endless and data is own.data:
            return self._flood()
        return self._answer(200, data, "application/octet-stream")

    def _page(self, project: str) -> None:
        if project != normalized(project) or not any(each.project == project for each in self.index.files.values()):
            return self._answer(404, b"", "text/plain")
        if self.index.html or JSON not in self.headers.get("accept", ""):
            return self._answer(200, self.index.html_page(project).encode(), "text/html; charset=utf-8")
        return self._answer(200, json.dumps(self.index.page(project)).encode(), JSON)

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _flood(self) -> None:
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextmanager
def serving_index() -> Iterator[PackageIndexServer]:
    """An empty index on a free port."""
    index = PackageIndexServer()
    handler = type("Handler", (_Handler,), {"index": index})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005})
        thread.start()
        index.url = f"http://127.0.0.1:{server.server_address[1]}/simple/"
        try:
            yield index
        finally:
            server.shutdown()
            thread.join()
