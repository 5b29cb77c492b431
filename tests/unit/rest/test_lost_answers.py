"""A request to delete whose write succeeds, and whose answer from the table is lost, succeeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from hibernaut.ports.storage.table import Change, OutcomeUnknown, Table
from hibernaut.rest.app import create_app
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.tables import PassesOn

SOURCE = 'def knock() -> str:\n    """Knock."""\n    return ""\n'
MESSAGE = {"messages": [{"role": "user", "content": "x"}], "schedule": {"type": "recurring", "cron_expression": "0 9 * * *"}}
STDIO = {"mcp_server_type": "stdio", "command": "/bin/true", "args": []}


class LosesOneAnswer(PassesOn):
    """Loses the answer of the next write when `armed`."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.armed = False

    def write(self, *changes: Change) -> None:
        super().write(*changes)
        if self.armed:
            self.armed = False
            raise OutcomeUnknown("the answer is lost")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[httpx.Client, LosesOneAnswer]]:
    tables: list[LosesOneAnswer] = []

    def wrapped(table: Table) -> Table:
        tables.append(LosesOneAnswer(table))
        return tables[0]

    settings = EmbeddedSettings(data=tmp_path / "data", default_embedding="none")
    with closing(Embedded(settings, EmbeddedOverrides(table=wrapped))) as embedded:  # without threads, which write too
        app = create_app(services_of(embedded.stores, embedded.host, embedded.engines))
        with TestClient(app, base_url="http://127.0.0.1:8283") as http:
            yield http, tables[0]


def made(http: httpx.Client, path: str, body: object, field: str = "id") -> str:
    answer = http.post(path, json=body)
    assert answer.status_code < 300, answer.text
    return f"{path.rstrip('/')}/{answer.json()[field]}"


def agent(http: httpx.Client) -> str:
    block = http.post("/v1/blocks/", json={"label": "human", "value": "Ada"}).json()["id"]
    return made(http, "/v1/agents/", {"tags": ["a"], "block_ids": [block]})


def schedule(http: httpx.Client) -> str:
    return made(http, f"{agent(http)}/schedule", MESSAGE)


def group(http: httpx.Client) -> str:
    return made(http, "/v1/groups/", {"agent_ids": [agent(http).rpartition("/")[2]], "description": "d"})


def template(http: httpx.Client) -> str:
    body = {"type": "agent", "agent_id": agent(http).rpartition("/")[2], "name": "t"}
    return made(http, "/v1/templates", body, "name")


MAKE: dict[str, Callable[[httpx.Client], str]] = {
    "agent": agent,
    "block": lambda http: made(http, "/v1/blocks/", {"label": "l", "value": "v"}),
    "tool": lambda http: made(http, "/v1/tools/", {"source_code": SOURCE}),
    "archive": lambda http: made(http, "/v1/archives/", {"name": "a"}),
    "folder": lambda http: made(http, "/v1/folders/", {"name": "f"}),
    "group": group,
    "provider": lambda http: made(http, "/v1/providers/", {"name": "p", "provider_type": "openai", "api_key": "k"}),
    "schedule": schedule,
    "template": template,
    "sandbox": lambda http: made(http, "/v1/sandbox-config/", {"config": {}}),
    "mcp server": lambda http: made(http, "/v1/mcp-servers/", {"server_name": "m", "config": STDIO}),
    "webhook": lambda http: made(http, "/v1/webhooks", {"url": "https://example.com/h"}),
}


@pytest.mark.parametrize("noun", MAKE)
def test_a_deletion_whose_answer_is_lost_succeeds(served: tuple[httpx.Client, LosesOneAnswer], noun: str) -> None:
    http, table = served
    path = MAKE[noun](http)
    table.armed = True
    answer = http.delete(path)
    assert not table.armed
    assert answer.status_code in (200, 204), answer.text
    assert http.delete(path).status_code in (404, 405)
