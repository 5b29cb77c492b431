"""Many who follow runs at once, at the embedded server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from letta_client import Letta

from hibernaut.rest.http.lanes import LOOKS
from tests.compat.conftest import HANDLE, serving_embedded
from tests.support.provider_servers import ScriptedOpenAI

MANY = 64
LONGEST = 120.0
"""Seconds after which a barrier that nobody comes to is a failure."""


@pytest.fixture
def provider() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as server:
        yield server


def agents(url: str, count: int) -> list[str]:
    with Letta(base_url=url, api_key="any", max_retries=0) as client:
        return [client.agents.create(model=HANDLE, include_base_tools=False).id for _ in range(count)]


def lines(url: str, agent: str) -> Iterator[dict[str, Any]]:
    """The events of a stream of tokens, as they come."""
    body = {"input": "hi", "stream_tokens": True}
    with httpx.stream("POST", f"{url}/v1/agents/{agent}/messages/stream", json=body, timeout=LONGEST) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))


def test_sixty_four_streams_go_on_together_and_none_is_starved(tmp_path: Path, provider: ScriptedOpenAI) -> None:
    """No model begins before all are asked, and none goes on before every client has read the beginning of its own reply."""
    assert LOOKS.threads < MANY
    asked, begun = threading.Barrier(MANY), threading.Barrier(MANY + 1)
    begun_reading = [threading.Event() for _ in range(MANY)]

    def script(_messages: list[dict[str, Any]], _tools: list[dict[str, Any]]) -> dict[str, Any]:
        asked.wait(LONGEST)
        return {"content": "Hello, and goodbye.", "before": lambda number: begun.wait(LONGEST) if number == 3 else None}

    provider.script = script

    def follow(place: int, url: str, agent: str) -> str:
        text = ""
        for event in lines(url, agent):
            if event["message_type"] == "assistant_message":
                text += event["content"]
                begun_reading[place].set()
        return text

    with serving_embedded(tmp_path, provider) as served, ThreadPoolExecutor(MANY) as clients:
        url = served.url
        places = list(enumerate(agents(url, MANY)))
        texts = [clients.submit(follow, place, url, agent) for place, agent in places]
        assert all([one.wait(LONGEST) for one in begun_reading])
        # All wait for their models now, and hold no thread: the server answers others.
        assert httpx.get(f"{url}/v1/agents/count", timeout=LONGEST).json() == MANY
        begun.wait(LONGEST)
        assert [text.result(LONGEST) for text in texts] == ["Hello, and goodbye."] * MANY
