"""A real browser and the WebSocket API: the example of the page works on a page of ours, and a page of another site is
refused.
"""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.schemas.access.api_key import CreateApiKey
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.browser.chromium import Site, program, visiting
from tests.support.web_sockets import served_on_loopback

DOCS = Path(__file__).parents[2] / "docs" / "websockets.md"
PAGE = """<!doctype html><script>
const url = URL, key = KEY, agentId = AGENT;
const report = (text) => fetch("/", {method: "POST", body: text});
let said = "";
const show = (event) => { if (event.message_type === "assistant_message") said += event.content; };
EXAMPLE
socket.onerror = () => report("refused");
const listening = socket.onmessage;
socket.onmessage = (message) => { listening(message); if (JSON.parse(message.data).type === "done") report(socket.protocol + ": " + said); };
</script>"""


@pytest.fixture(autouse=True)
def chromium() -> str:
    return program()


@pytest.mark.parametrize("allowed", [True, False])
def test_a_page_talks_to_an_agent_only_if_its_origin_is_allowed(tmp_path: Path, allowed: bool) -> None:
    (example,) = re.findall(r"```js\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    with Embedded(EmbeddedSettings(tmp_path / "data")) as house, closing(Site()) as site:
        policy = OriginPolicy(origins=(f"http://app.test:{site.port}",) if allowed else ())
        key = house.access.keys_of("default").create(CreateApiKey.model_validate({"scope": "write"})).key
        with served_on_loopback(house, policy=policy) as url:
            agent = httpx.post(f"{url}/v1/agents", json={}, headers={"x-api-key": key}).json()["id"]
            address = f"{url.replace('http', 'ws')}/v1/ws"
            words = {"URL": json.dumps(address), "KEY": json.dumps(key), "AGENT": json.dumps(agent), "EXAMPLE": example}
            site.page = PAGE
            for word, value in words.items():
                site.page = site.page.replace(word, value)
            with visiting(f"http://app.test:{site.port}/", tmp_path / "profile"):
                told = site.report()
    if allowed:
        assert told.startswith("hibernaut.v1: ")
        assert "demo model" in told
    else:
        assert told == "refused"
