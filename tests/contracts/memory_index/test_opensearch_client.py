"""What OpenSearch, and whatever stands before it, may answer; against a small server that answers so. Needs no node."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hibernaut.adapters.memory_index.opensearch import OpenSearchMemoryIndex
from hibernaut.adapters.memory_index.opensearch_client import connected
from hibernaut.adapters.memory_index.opensearch_domain import DomainDialect
from hibernaut.adapters.memory_index.opensearch_requests import FORMAT, MOST_BYTES, batches
from hibernaut.ports.memory.memory_index import IndexAsleep
from tests.contracts.memory_index.documents import SPACE, document, query, tombstone
from tests.support.opensearch import over_domain


class Answering(ThreadingHTTPServer):
    """Answers each request with `status` and `body`, and keeps what it was asked."""

    status = 200
    body = "{}"

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Answering

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((f"{self.command} {self.path}", dict(self.headers)))
        content = self.server.body.encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the server's names

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Answering]:
    answering = Answering()
    thread = threading.Thread(target=answering.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield answering
    answering.shutdown()
    thread.join()
    answering.server_close()


def every_call(index: OpenSearchMemoryIndex) -> None:
    """Each must say that the index is asleep."""
    for ask in (
        lambda: index.search(SPACE, query("tea")),
        lambda: index.search(SPACE, query(vector=(1.0, 0.0))),
        lambda: index.put(SPACE, [document("one")]),
        lambda: index.put(SPACE, [document("one", vector=(1.0, 0.0))]),
        lambda: index.remove(SPACE, [tombstone("one")]),
        lambda: list(index.states(SPACE, "home")),
        index.spaces,
        lambda: index.drop(SPACE),
    ):
        with pytest.raises(IndexAsleep):
            ask()


@pytest.mark.parametrize("status", [401, 403, 404, 408, 413, 429, 500, 502, 503, 504])
def test_no_access_and_a_service_in_trouble_are_an_index_asleep(server: Answering, status: int) -> None:
    server.status, server.body = status, json.dumps({"error": {"type": "some_exception", "reason": "so"}, "status": status})
    index = over_domain(connected(server.address), prefix="memory")
    every_call(index)
    assert len(server.asked) == 8  # one each: nothing is tried again
    index.close()


def test_an_answer_of_something_else_is_an_index_asleep(server: Answering) -> None:
    server.body = "<html>Please log in</html>"
    index = over_domain(connected(server.address), prefix="memory")
    every_call(index)
    index.close()


def test_no_connection_is_an_index_asleep() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        index = over_domain(connected(f"http://127.0.0.1:{closed.getsockname()[1]}"), prefix="memory")
        every_call(index)
        index.close()


@pytest.mark.parametrize(
    "response", [{"timed_out": True, "_shards": {"failed": 0}}, {"timed_out": False, "_shards": {"failed": 1}}]
)
def test_an_answer_of_a_part_of_the_index_is_none(server: Answering, response: dict[str, object]) -> None:
    server.body = json.dumps({"responses": [{**response, "hits": {"hits": []}}]})
    index = over_domain(connected(server.address), prefix="memory")
    with pytest.raises(IndexAsleep):
        index.search(SPACE, query("tea"))
    index.close()


def test_a_write_that_is_refused_for_now_is_not_taken_for_done(server: Answering) -> None:
    refused = {
        "_index": f"memory-{FORMAT}-{SPACE}",
        "status": 429,
        "error": {"type": "rejected_execution_exception", "reason": "full"},
    }
    server.body = json.dumps({"errors": True, "items": [{"index": refused}]})
    index = over_domain(connected(server.address), prefix="memory")
    with pytest.raises(IndexAsleep, match="full"):
        index.put(SPACE, [document("one")])
    index.close()


def test_with_a_region_each_request_is_signed_for_a_domain(server: Answering) -> None:
    server.body = json.dumps(
        {"responses": [{"timed_out": False, "_shards": {"failed": 0}, "hits": {"total": {"value": 0}, "hits": []}}]}
    )
    index = over_domain(connected(server.address, region="eu-central-1"), prefix="memory")
    index.search(SPACE, query("tea"))
    ((path, headers),) = server.asked
    assert path == "POST /_msearch"
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=testing/")
    assert "/eu-central-1/es/aws4_request" in headers["Authorization"]
    index.close()


def test_bulk_requests_stay_below_what_the_smallest_domain_takes() -> None:
    lines = [f"{number}{'x' * 999_999}\n" for number in range(10)] + ["y" * (MOST_BYTES + 1)]
    bodies = list(batches(lines))
    assert "".join(bodies) == "".join(lines)
    assert all(len(body) <= MOST_BYTES for body in bodies[:-1])
    assert bodies[-1] == lines[-1]
    assert list(batches([])) == []


def test_the_mapping_names_the_lucene_engine_for_every_vector() -> None:
    """Without it OpenSearch takes native code, which accepts documents and then loses the index."""
    dialect = DomainDialect(None, replicas=1)
    body = dialect.index_body("memory", SPACE, "memory.writes")
    fields = [*body["mappings"]["properties"].values(), *dialect.vector_mapping(384)["properties"].values()]
    vectors = [field for field in fields if field["type"] == "knn_vector"]
    assert [(field["method"]["engine"], field["dimension"]) for field in vectors] == [("lucene", 384)]
    assert body["mappings"]["dynamic"] == "strict"
    assert body["settings"]["index"]["gc_deletes"] == "1h"
