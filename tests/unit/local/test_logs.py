"""Secrets, prompts and message bodies never reach a log: they are planted, a whole conversation is had, and every line is
searched.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hibernaut.local.logs import Fields
from hibernaut.local.server import LocalServer, address, listening
from hibernaut.rest.app import create_app
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.provider_servers import ScriptedOpenAI

KEY, SECRET, SYSTEM, BLOCK, SAID, REPLY, ARGUMENT, RETURN = (
    f"planted-{name}" for name in ["key", "secret", "system", "block", "said", "reply", "argument", "return"]
)
TOOL = f'''
def shout(word: str) -> str:
    """Shout.

    Args:
        word: What to shout.
    """
    if word == "fail":
        raise ValueError("{RETURN}")
    return "{RETURN}"
'''
CALL = {"tool_calls": [{"id": "c1", "name": "shout", "arguments": {"word": ARGUMENT}}]}
FAILING = {"tool_calls": [{"id": "c2", "name": "shout", "arguments": {"word": "fail"}}]}
BROKEN = {"tool_calls": [{"id": "c3", "name": "shout", "arguments": "{" + ARGUMENT}]}


@pytest.fixture
def provider() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as server:
        yield server


@pytest.fixture
def http(tmp_path: Path, provider: ScriptedOpenAI) -> Iterator[httpx.Client]:
    settings = EmbeddedSettings(tmp_path, providers={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": provider.url})
    with Embedded(settings) as house:
        app = create_app(services_of(house.stores, house.host, house.engines))
        ready, listener = threading.Event(), listening("127.0.0.1", 0)
        server = LocalServer(app, listener, ready=ready.set)
        thread = threading.Thread(target=server.serve)
        thread.start()
        ready.wait()
        with httpx.Client(base_url=address(listener), timeout=60) as client:
            yield client
        server.stop()
        thread.join()


def test_no_secret_prompt_or_body_is_ever_logged(
    http: httpx.Client, provider: ScriptedOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, logger="hibernaut")
    tool = http.post("/v1/tools/", json={"source_code": TOOL}).json()
    agent = http.post(
        "/v1/agents/",
        json={
            "model": "openai/test-model",
            "system": SYSTEM,
            "memory_blocks": [{"label": "human", "value": BLOCK}],
            "tool_ids": [tool["id"]],
            "secrets": {"TOKEN": SECRET},
        },
    ).json()
    outcomes = [_send(http, provider, agent["id"], *replies) for replies in _conversations()]
    http.post(f"/v1/agents/{agent['id']}/messages", content=b'{"input": ' + SAID.encode())
    assert outcomes.count(200) >= 3
    assert len(caplog.records) > len(outcomes)
    lines = "\n".join(Fields("%(message)s").format(record) for record in caplog.records)
    planted = (KEY, SECRET, SYSTEM, BLOCK, SAID, REPLY, ARGUMENT, RETURN)
    assert [text for text in planted if text in lines] == []


def _conversations() -> list[list[dict[str, Any]]]:
    """An answer, a tool, a tool that fails, broken arguments; then a provider that quotes the prompt in its errors, and
    garbage.
    """
    answer = {"content": REPLY}
    quoted = {"status": 400, "body": {"error": {"message": f"bad prompt: {SAID} {SYSTEM}", "type": "invalid_request_error"}}}
    return [[answer], [CALL, answer], [FAILING, answer], [BROKEN, answer], [quoted], [{"raw": SAID.encode()}]]


def _send(http: httpx.Client, provider: ScriptedOpenAI, agent: str, *replies: dict[str, Any]) -> int:
    left = list(replies)
    provider.script = lambda *_: left.pop(0) if len(left) > 1 else left[0]
    return http.post(f"/v1/agents/{agent}/messages", json={"input": SAID}).status_code
