"""The table of a release as data: a story that leaves items of nearly every kind, and a world over recorded items.

The story stops at the points where a deployment may meet a table: a run whose worker died, an approval that nobody has answered,
a message in the queue.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from starlette.testclient import TestClient

from hibernaut.ports.storage.table import Put
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.rest.app import create_app
from hibernaut.schemas.access.budget import SetBudget
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.wiring.api_services import services_of
from tests.support.scripted_model import calls, in_turn, says
from tests.support.tables import all_items
from tests.support.world import World, data_in

ITEMS = "items.json"
LARGE = "A long letter. " * 5_000
"""A body that is too large for an item."""


class Died(BaseException):
    """The worker has died."""


class Names(NamedTuple):
    """The agents of the story."""

    talked: str
    stopped: str
    asking: str


def client_of(world: World) -> TestClient:
    """The API over the world."""
    app = create_app(services_of(world.all_stores, world.host, world.engines))
    return TestClient(app, base_url="http://localhost")


def play(folder: Path) -> tuple[World, Names]:
    """Play the story; the world is that of the worker that died."""
    script = in_turn(
        calls(("memory_insert", {"label": "human", "new_string": "She lives in Oslo."}), ("knock", {"x": "front"})),
        says("Hello."),
        says(LARGE),
        calls(("ring", {"x": "back"})),
        calls(("knock", {"x": "back"}), text="A moment."),
    )
    data = data_in(folder, script)
    data.runner.does = _knocked
    world = World(data, indexed=True)
    talked = world.make_agent(blocks={"human": "She likes tea."}, tools=("memory_insert", "knock"))
    world.budgets.set("tenant", SetBudget(requests_per_second=100))
    _with_api(client_of(world), talked)
    world.send(talked, "I moved to Oslo.", otids=["otid-1"])
    world.send(talked, "Write me a long letter.")
    asking = world.make_agent(tools=("ring",), rules=[RequiresApprovalToolRule(tool_name="ring")])
    world.send(asking, "Ring the bell.")
    stopped = world.make_agent(tools=("knock",))
    run = world.begin(stopped, "Knock at the back door.")
    world.accept(stopped, "And then?", when_busy="queue")
    try:
        data.runner.at = _dies
        world.chain.turns.advance(run)
    except Died:
        pass
    return world, Names(talked, stopped, asking)


def _knocked(job: ToolJob) -> ToolOutcome:
    return ToolOutcome("success", f"knocked at {job.args['x']}")


def _dies(place: str) -> None:
    if place == "after tool":
        raise Died


def _with_api(http: TestClient, agent: str) -> None:
    """Records that only the API makes."""
    archive = _made(http, "/v1/archives/", {"name": "notes"})
    _made(http, f"/v1/archives/{archive}/passages", {"text": "The key hangs behind the clock.", "tags": ["house"]})
    assert http.patch(f"/v1/agents/{agent}/archives/attach/{archive}").status_code < 300
    folder = _made(http, "/v1/folders/", {"name": "letters"})
    assert http.patch(f"/v1/agents/{agent}/folders/attach/{folder}").status_code == 200
    uploaded = http.post(f"/v1/folders/{folder}/upload", files={"file": ("letter.txt", b"Dear Ada", "text/plain")})
    assert uploaded.status_code == 200, uploaded.text
    _made(http, "/v1/agents/", {"name": "Grace", "tags": ["navy"], "include_base_tools": False})
    conversation = _made(http, f"/v1/conversations/?agent_id={agent}", {})
    _made(http, f"/v1/conversations/{conversation}/fork", {})


def _made(http: TestClient, path: str, body: JsonObject) -> str:
    answer = http.post(path, json=body)
    assert answer.status_code in (200, 201), answer.text
    return str(answer.json()["id"])


def recorded(world: World, names: Names) -> JsonObject:
    """The items, the blobs and the time of the world."""
    items = [dict(item) for _, item in sorted(all_items(world.data.table).items())]
    blobs = {key: body.decode() for key, (body, _) in sorted(world.data.blobs.kept.items())}
    return {"at": world.clock.now().isoformat(), "names": names._asdict(), "items": items, "blobs": blobs}


def loaded(place: Path, folder: Path, *replies: Json) -> tuple[World, Names]:
    """A new worker over recorded items. `replies`: what the model says now."""
    document = json.loads(place.read_text(encoding="utf-8"))
    data = data_in(folder, in_turn(*replies))
    data.clock.time = datetime.fromisoformat(document["at"])  # type: ignore[attr-defined]
    for item in document["items"]:
        data.table.write(Put(item))
    for key, body in document["blobs"].items():
        data.blobs.put(key, body.encode())
    data.runner.does = _knocked
    return World(data, holder="host:2", indexed=True), Names(**document["names"])
