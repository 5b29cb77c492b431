"""The waits for the table do not grow with the blocks, tools and folders of an agent: what is known together is read together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from hibernaut.rest.app import create_app
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.budgets.test_request_budgets import Meter

FEW, MANY = 3, 30
SOURCE = 'def knock_{0}(door: str) -> str:\n    """Knock.\n\n    Args:\n        door: Which.\n    """\n    return door\n'
PARTS: dict[str, tuple[str, Callable[[int], dict[str, object]]]] = {
    "block_ids": ("/v1/blocks/", lambda number: {"label": f"label_{number}", "value": "Ann"}),
    "tool_ids": ("/v1/tools/", lambda number: {"source_code": SOURCE.format(number)}),
    "folder_ids": ("/v1/folders/", lambda number: {"name": f"folder {number}"}),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, Meter]]:
    meters: list[Meter] = []

    def metered(table: object) -> Meter:
        meters.append(Meter(table))  # type: ignore[arg-type]
        return meters[-1]

    embedded = Embedded(
        EmbeddedSettings(data=tmp_path_factory.mktemp("data")),
        EmbeddedOverrides(table=metered),  # type: ignore[arg-type]
    )
    with TestClient(
        create_app(services_of(embedded.stores, embedded.host, embedded.engines)), base_url="http://localhost"
    ) as client:
        yield client, meters[0]
    embedded.close()


def waits(served: tuple[TestClient, Meter], method: str, path: str, body: dict[str, object] | None = None) -> int:
    client, meter = served
    meter.reset()
    reply = client.request(method, path, json=body)
    assert reply.status_code == 200, reply.text
    return meter.waits


@pytest.mark.parametrize("name", PARTS)
def test_an_agent_with_many_parts_waits_no_longer_than_one_with_few(served: tuple[TestClient, Meter], name: str) -> None:
    client, _ = served
    path, body = PARTS[name]
    ids = [client.post(path, json=body(number)).json()["id"] for number in range(MANY)]
    found: dict[str, list[int]] = {}
    for count in (FEW, MANY):
        created = waits(served, "POST", "/v1/agents/", {"name": f"{name} {count}", name: ids[:count]})
        agent_id = client.get("/v1/agents/", params={"name": f"{name} {count}"}).json()[0]["id"]
        bare = client.post("/v1/agents/", json={"name": "bare"}).json()["id"]
        found.setdefault("create", []).append(created)
        found.setdefault("change", []).append(waits(served, "PATCH", f"/v1/agents/{bare}", {name: ids[:count]}))
        found.setdefault("read", []).append(waits(served, "GET", f"/v1/agents/{agent_id}"))
        found.setdefault("message", []).append(waits(served, "POST", f"/v1/agents/{agent_id}/messages", {"input": "hello"}))
    assert {request: (few, many) for request, (few, many) in found.items() if many > few} == {}
