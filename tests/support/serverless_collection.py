"""A vector collection of OpenSearch Serverless: a server on loopback before a real node, which enforces the collection's
documented rules.

A request that a collection would refuse is refused; any other goes to the node, with two changes: the k-NN engine becomes
`lucene` without compression, because the node lacks native libraries, and an index refreshes only when this server says so.
"Guide" is the Amazon OpenSearch Service Developer Guide.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

_OPERATIONS = (
    "GET _mapping",
    "PUT [index]",
    "GET [index]",
    "HEAD [index]",
    "DELETE [index]",
    "GET [index]/_mapping",
    "PUT [index]/_mapping",
    "POST [index]/_mapping",
    "POST _bulk",
    "POST [index]/_bulk",
    "POST [index]/_doc",
    "GET [index]/_doc/[id]",
    "DELETE [index]/_doc/[id]",
    "GET [index]/_search",
    "POST [index]/_search",
    "GET [index]/_count",
    "GET [index]/_msearch",
)
"""Those of "Supported operations and plugins" (guide) that an index of memory could want, in the forms in which they are
listed.
"""
_WRITES = re.compile(r"/([^/]+)/(_bulk|_doc)")


@dataclass(frozen=True, slots=True)
class CollectionRequest:
    """A request. `lines`: the objects of a body of lines, or the one object of another body."""

    method: str
    path: str
    parameters: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def lines(self) -> list[dict[str, Any]]:
        if not self.body:
            return []
        each = self.body.splitlines() if self.path.endswith(("_bulk", "_msearch")) else [self.body]
        return [json.loads(line) for line in each if line.strip()]

    def actions(self) -> list[tuple[str, dict[str, Any]]]:
        """The actions of a bulk request, with what each is told."""
        if not self.path.endswith("/_bulk"):
            return []
        names = ("index", "create", "update", "delete")
        return [(name, line[name]) for line in self.lines if len(line) == 1 for name in names if name in line]


@dataclass(frozen=True, slots=True)
class CollectionRefusal:
    status: int
    kind: str
    reason: str

    def body(self) -> bytes:
        error = {"type": self.kind, "reason": self.reason, "root_cause": []}
        return json.dumps({"error": error, "status": self.status}).encode()


@dataclass(frozen=True, slots=True)
class CollectionRule:
    """What a collection refuses, and where that is documented."""

    name: str
    source: str
    check: Callable[[CollectionRequest], CollectionRefusal | None]


def _operation(request: CollectionRequest) -> CollectionRefusal | None:
    for each in _OPERATIONS:
        method, _, form = each.partition(" ")
        pattern = re.escape(form).replace(r"\[index\]", "[^_/][^/]*").replace(r"\[id\]", "[^/]+")
        if method == request.method and re.fullmatch(f"/{pattern}", request.path):
            return None
    return CollectionRefusal(404, "not_found", f"no operation {request.method} {request.path}")


def _parameters(request: CollectionRequest) -> CollectionRefusal | None:
    if not request.parameters:
        return None
    return CollectionRefusal(400, "illegal_argument_exception", f"unrecognized parameters: {sorted(request.parameters)}")


def _ids(request: CollectionRequest) -> CollectionRefusal | None:
    if any("_id" in told for name, told in request.actions() if name in ("index", "create")):
        reason = "Document ID is not supported in create/index operation request"
        return CollectionRefusal(400, "illegal_argument_exception", reason)
    return None


def _updates(request: CollectionRequest) -> CollectionRefusal | None:
    if any(name == "update" for name, _ in request.actions()):
        return CollectionRefusal(400, "illegal_argument_exception", "update is not supported for this type of collection")
    return None


def _versions(request: CollectionRequest) -> CollectionRefusal | None:
    if any({"version", "version_type", "require_alias"} & told.keys() for _, told in request.actions()):
        return CollectionRefusal(400, "illegal_argument_exception", "versions of the caller need an id of the caller")
    return None


def _scripts(request: CollectionRequest) -> CollectionRefusal | None:
    if not request.path.endswith("_bulk") and any("script" in each for line in request.lines for each in _keys(line)):
        return CollectionRefusal(400, "illegal_argument_exception", "scripts are not supported")
    return None


def _engine(request: CollectionRequest) -> CollectionRefusal | None:
    methods = [each["method"] for line in request.lines for each in _objects(line) if each.get("type") == "knn_vector"]
    if all((method.get("engine", "faiss"), method["name"]) == ("faiss", "hnsw") for method in methods):
        return None
    return CollectionRefusal(400, "mapper_parsing_exception", "only the engine faiss with hnsw is supported")


RULES = (
    CollectionRule(
        "operations", "guide, Supported operations and plugins; apache/flink-agents#678 (404 for _refresh)", _operation
    ),
    CollectionRule("parameters", "opensearch-project/opensearch-spark#634", _parameters),
    CollectionRule(
        "ids",
        "guide, Choosing a collection type; Migration Assistant, Collection types; opensearch-project/opensearch-py#792",
        _ids,
    ),
    CollectionRule("updates", "guide, Choosing a collection type", _updates),
    CollectionRule("versions", "opensearch.org, Index document: version needs the id of a document", _versions),
    CollectionRule("scripts", "guide, Working with vector search collections: Limitations (Classic)", _scripts),
    CollectionRule(
        "engine", "guide, Working with vector search collections: Limitations (Classic); langchain-ai/langchain#8256", _engine
    ),
)


def unsigned(request: CollectionRequest) -> CollectionRefusal | None:
    """The rule of signatures: for `aoss`, over the hash of the body (opensearch-project/opensearch-js#1098)."""
    given = request.headers.get("authorization", "")
    if "/aoss/aws4_request" not in given:
        return CollectionRefusal(403, "security_exception", "the request is not signed for aoss")
    signed = re.findall(r"SignedHeaders=([^,]*)", given)[0].split(";")
    if "x-amz-content-sha256" not in signed:
        return CollectionRefusal(400, "security_exception", "`x-amz-content-sha256` header must be signed in SigV4")
    if request.headers["x-amz-content-sha256"] != hashlib.sha256(request.body).hexdigest():
        return CollectionRefusal(403, "security_exception", "the hash is not that of the body")
    if {"connection", "content-length"} & set(signed):  # dropped before the collection: opensearch-project/opensearch-py#1047
        return CollectionRefusal(403, "security_exception", "the signature does not match")
    return None


class ServerlessCollection:
    """The collection before the node at `node` (an address). `at_once`: what is written is visible at once; otherwise `refresh()`
    shows it.

    `asleep`: answers 503, `held`: answers nothing until the event is set. `asked` has method and path of every request.
    """

    def __init__(self, node: str, *, at_once: bool = True, signed: bool = False) -> None:
        self.node = urlsplit(node)
        self.at_once = at_once
        self.asleep = False
        self.held: threading.Event | None = None
        self.asked: list[tuple[str, str]] = []
        self.rules = [rule.check for rule in RULES] + ([unsigned] if signed else [])
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"collection": self}))
        self.server.daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def refresh(self) -> None:
        """The refresh interval is over: what was written and deleted before is seen."""
        self.passed("POST", "/_refresh", b"")

    def answer(self, request: CollectionRequest) -> tuple[int, bytes]:
        self.asked.append((request.method, request.path))
        if self.held is not None:
            self.held.wait(10)
        if self.asleep:
            return 503, CollectionRefusal(503, "service_unavailable", "the collection wakes").body()
        for check in self.rules:
            if (refusal := check(request)) is not None:
                return refusal.status, refusal.body()
        status, answer = self.passed(request.method, request.path, _for_the_node(request))
        if self.at_once and (written := _WRITES.match(request.path)) and request.method != "GET":
            self.passed("POST", f"/{written[1]}/_refresh", b"")
        return status, answer

    def passed(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """The node's answer."""
        connection = HTTPConnection(self.node.hostname or "", self.node.port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@contextmanager
def serverless_collection(node: str, *, at_once: bool = True, signed: bool = False) -> Iterator[ServerlessCollection]:
    """A collection that serves until the context ends."""
    collection = ServerlessCollection(node, at_once=at_once, signed=signed)
    thread = threading.Thread(target=collection.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield collection
    collection.server.shutdown()
    thread.join()
    collection.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    collection: ServerlessCollection
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = CollectionRequest(self.command, parts.path, parse_qs(parts.query, keep_blank_values=True), headers, body)
        status, content = self.collection.answer(request)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer  # noqa: N815 - the server's names

    def log_message(self, format: str, *args: object) -> None:
        pass


def _for_the_node(request: CollectionRequest) -> bytes:
    if request.method != "PUT":
        return request.body
    (body,) = request.lines
    for each in _objects(body):
        if each.get("type") == "knn_vector":
            each["method"]["engine"] = "lucene"
            each.pop("compression_level", None)
    if not request.path.endswith("_mapping"):
        body.setdefault("settings", {}).setdefault("index", {}).update(refresh_interval="-1", number_of_replicas=0)
    return json.dumps(body).encode()


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """All objects inside a value."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(each)


def _keys(value: Any) -> Iterator[str]:
    return (name for each in _objects(value) for name in each)
