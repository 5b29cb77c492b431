"""A stream that is cut anywhere and resumed is the uncut one, byte for byte in its events; pings are left out of it (API 6.4,
6.5).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from letta_client import Letta

from tests.compat.conftest import HANDLE, calls
from tests.support.provider_servers import ScriptedOpenAI

# The SDK calls its own stream() deprecated.
pytestmark = [pytest.mark.deployed, pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")]
SURE = 4
"""So many events of a run's stream come before its last model call ends: the ping, a piece of text, a piece of a call, its
return.
"""
LONGEST_HOLD = 20.0
"""Seconds after which a model goes on that nobody has let go: then the test has failed already."""


class Held:
    """A model that inserts a memory and then says something. It does not finish before it is let go."""

    def __init__(self) -> None:
        self.gate = threading.Event()

    def __call__(self, messages: list[dict[str, Any]], _tools: list[dict[str, Any]]) -> dict[str, Any]:
        if messages[-1]["role"] != "tool":
            return calls(("memory_insert", {"label": "human", "new_string": "Likes tea."}), content="I shall note that down.")
        return {"content": "Noted: you like your tea.", "reasoning": "What a fine drink.", "before": self.before}

    def before(self, number: int) -> None:
        if number == 3:
            self.gate.wait(LONGEST_HOLD)


def blocks(lines: Iterator[str]) -> Iterator[str]:
    """Each server-sent event as it came."""
    held: list[str] = []
    for line in lines:
        if line:
            held.append(line)
        elif held:
            yield "\n".join(held)
            held = []


def is_ping(block: str) -> bool:
    return '"message_type":"ping"' in block


def number(block: str) -> int | None:
    text = block.partition("data: ")[2]
    found: int | None = None if text == "[DONE]" else json.loads(text).get("seq_id")
    return found


def resumed(client: Letta, run_id: str, after: int, gate: threading.Event) -> list[str]:
    """What comes after that number; the gate is opened as soon as anything comes."""
    with client.runs.messages.with_streaming_response.stream(run_id, starting_after=after) as answer:
        found = []
        for block in blocks(answer.iter_lines()):
            gate.set()
            found.append(block)
    return [block for block in found if not is_ping(block)]


@pytest.mark.manifest("messages.stream.background", "messages.stream.numbers", "messages.stream.tokens", "runs.stream")
@settings(max_examples=12)
@given(cut=st.integers(1, 30))
def test_a_background_stream_cut_anywhere_goes_on_from_its_last_number(client: Letta, provider: ScriptedOpenAI, cut: int) -> None:
    agent = client.agents.create(model=HANDLE, memory_blocks=[{"label": "human", "value": ""}])
    model = Held()
    provider.script = model
    seen: list[str] = []
    streaming = client.agents.messages.with_streaming_response
    with streaming.stream(agent.id, input="I like tea", stream_tokens=True, background=True) as answer:
        for block in blocks(answer.iter_lines()):
            seen.append(block)
            if len(seen) == cut:
                break
            if len(seen) == SURE:
                model.gate.set()
    run_id = json.loads(seen[0].partition("data: ")[2])["run_id"]
    numbered = [place for place, block in enumerate(seen) if number(block) is not None]
    after = number(seen[numbered[-1]]) or 0
    rest = resumed(client, run_id, after, model.gate)
    uncut = resumed(client, run_id, 0, model.gate)
    kept = [block for block in seen[: numbered[-1] + 1] if not is_ping(block)]
    assert kept + rest == uncut
    assert uncut[-1] == "data: [DONE]"
    told = [json.loads(block.partition("data: ")[2]) for block in uncut[:-1]]
    shown = [one["seq_id"] for one in told if "seq_id" in one]
    assert shown == list(range(2, 2 + len(shown))), "the ping is number 1"
    text = "".join(one["content"] for one in told if one["message_type"] == "assistant_message")
    assert text == "I shall note that down.Noted: you like your tea."
