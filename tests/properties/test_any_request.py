"""No request makes the server fail: drawn for every route out of the API's own description, with nonsense in it.

Whatever comes is answered, wrong things in one of the documented shapes of an error; nothing that was accepted makes anything
that is read afterwards unreadable; and no line of the log repeats what was sent.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import httpx
import numpy  # noqa: F401 - hypothesis looks into it, and must not find what the server is just importing
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from hibernaut.local.logs import Fields
from hibernaut.local.server import LocalServer, address, listening
from hibernaut.rest.app import create_app
from hibernaut.rest.http.async_bridge import WaitSettings
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.any_request import MARK, Operation, Requests, Sent, inputs, operations
from tests.support.api_description import api_description
from tests.support.direct_client import DirectClient
from tests.support.json_schema import fits
from tests.support.neighbours import Stock

DOCUMENT = api_description()
ALL = list(operations(DOCUMENT))
MOST = 18
"""Requests for one route."""
RUNS_CODE = ("/v1/tools/run", "/v1/agents/{agent_id}/tools/{tool_name}/run")
"""They start a child process for a request, and get few."""
NOT_HERE = {
    ("POST", "/v1/folders/{folder_id}/upload-url"): 501,
    ("POST", "/v1/agents/import/upload-url"): 501,
    ("POST", "/v1/tools/generate-tool"): 500,
    ("POST", "/v1/providers/check"): 500,
    ("POST", "/v1/providers/{provider_id}/check"): 500,
    ("PATCH", "/v1/providers/{provider_id}/refresh"): 500,
}
"""The documented answers above 499 that a request can bring about at home. The demo model writes no tool, and an error of a model
or of a provider is 500 as in V1.
"""
DEAD = "http://127.0.0.1:4/v1"
"""An address at which no provider answers."""
LISTS = sorted(o.path for o in ALL if o.method == "get" and "{" not in o.path)
OF_ADMINISTRATORS = ("/v1/api-keys", "/v1/budgets", "/v1/client-side-access-tokens")
OF_AN_AGENT = (
    "",
    "/context",
    "/messages",
    "/archival-memory",
    "/core-memory",
    "/core-memory/blocks",
    "/tools",
    "/folders",
    "/files",
)
PATH = re.compile(r" path=\S+")
"""Of the line of a request, which has no more of it than that."""
HERE = "http://localhost"
PATIENCE = 20.0
"""Seconds after which an answer counts as none."""


class Server:
    """The embedded profile, and one thing of each kind to be named in requests. `direct`: its services without a connection, for
    many reads.
    """

    def __init__(self, http: httpx.Client, direct: DirectClient, lines: list[str]) -> None:
        self.http = http
        self.direct = direct
        self.lines = lines
        self.things: dict[str, str] = {}

    def stock(self) -> None:
        """Make one of everything. Nothing listens at the address of its model provider."""
        made = Stock(self.http, "any", "x", administers=False)
        made.fill()
        access = {"api_key": "k", "base_url": DEAD}
        self.http.patch(f"/v1/providers/{made.things['provider_id']}", json=access).raise_for_status()
        self.things = {**made.things, "model": "hibernaut/demo"}

    def send(self, sent: Sent) -> httpx.Response:
        headers = {"content-type": sent.content_type} if sent.content is not None else {}
        query = list(sent.query)
        return self.http.request(sent.method, sent.path, params=query or None, content=sent.content, headers=headers)

    def new_lines(self) -> list[str]:
        """The lines of the log since the last call."""
        lines = self.lines[:]
        del self.lines[: len(lines)]
        return lines

    def is_whole(self) -> None:
        """Everything that there is can be read."""
        agent = f"/v1/agents/{self.things['agent_id']}"
        if self.http.get(agent).status_code == 404:
            self.stock()
            return
        answers = {
            path: self.direct.request("GET", path).status_code for path in [*LISTS, *(agent + part for part in OF_AN_AGENT)]
        }
        for path in OF_ADMINISTRATORS:
            assert answers.pop(path) == 403, "a server without keys has no administrator"
        assert set(answers.values()) <= {200, 422}, answers


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.setFormatter(Fields("%(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@contextmanager
def kept_lines() -> Iterator[list[str]]:
    logger, kept = logging.getLogger("hibernaut"), _Kept()
    before = logger.level
    logger.addHandler(kept)
    logger.setLevel(logging.DEBUG)
    try:
        yield kept.lines
    finally:
        logger.removeHandler(kept)
        logger.setLevel(before)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with kept_lines() as lines, Embedded(EmbeddedSettings(tmp_path_factory.mktemp("data"))) as house:
        services = services_of(house.stores, house.host, house.engines)
        app = create_app(services, waits=WaitSettings(arriving=0.0))  # no request waits for a message that never arrives
        listener = listening("127.0.0.1", 0)
        local = LocalServer(app, listener)
        thread = threading.Thread(target=local.serve, daemon=True)
        thread.start()
        reading = TestClient(create_app(services), base_url=HERE)
        with httpx.Client(base_url=address(listener), timeout=PATIENCE) as http, reading:
            made = Server(http, DirectClient(reading.app, reading), lines)
            made.stock()
            yield made
        local.stop()
        thread.join()


def is_described(operation: Operation, answer: httpx.Response) -> bool:
    """Whether the description of the operation tells of this status, and of this body where it is a refusal."""
    described = DOCUMENT["paths"][operation.path][operation.method]["responses"].get(str(answer.status_code))
    if answer.status_code < 400 or described is None:
        return described is not None
    schema = described["content"]["application/json"]["schema"]
    return fits(DOCUMENT, schema, answer.json()) and "Traceback" not in answer.text


@pytest.mark.parametrize("operation", ALL, ids=str)
def test_no_request_makes_the_server_fail(server: Server, operation: Operation) -> None:
    how_many = 3 if operation.path in RUNS_CODE else min(3 + inputs(DOCUMENT, operation), MOST)

    @settings(max_examples=how_many, suppress_health_check=list(HealthCheck), database=None)
    @given(st.integers(0, 2**32))
    def any_request(seed: int) -> None:
        sent = Requests(DOCUMENT, server.things).any(operation, Random(seed))
        answer = server.send(sent)
        allowed = NOT_HERE.get((operation.method.upper(), operation.path))
        assert answer.status_code < 500 or answer.status_code == allowed, (sent, answer.text)
        assert "internal_error" not in answer.text, sent
        assert is_described(operation, answer), (sent, answer.status_code, answer.text)

    any_request()
    if operation.method != "get":
        server.is_whole()
    assert server.http.get("/v1/health").json()["status"] == "ok"
    assert [line for line in server.new_lines() if MARK in PATH.sub("", line)] == []
