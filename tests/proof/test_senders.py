"""Six concurrent senders to one agent, through the SDK: each gets the answer to its own message, and the log contains all
messages.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

from letta_client import Letta
from letta_client.types import AgentState

from hibernaut.domain.memory.memory_updates import without_update
from tests.compat.conftest import HANDLE, serving_embedded
from tests.support.provider_servers import ScriptedOpenAI

SENDERS = 6
PATIENCE = 60.0


def answer(messages: list[dict[str, Any]], _tools: list[dict[str, Any]]) -> dict[str, Any]:
    """The reply to the newest user message: first a tool call, then an answer that names the message."""
    asked = without_update(str([message["content"] for message in messages if message["role"] == "user"][-1]))
    if messages[-1]["role"] == "tool":
        return {"content": f"answer to {asked}"}
    call = {"id": "call_1", "name": "memory_insert", "arguments": {"label": "human", "new_string": str(asked)}}
    return {"content": None, "tool_calls": [call]}


def said(reply: Any) -> list[str]:
    return [message.content for message in reply.messages if message.message_type == "assistant_message"]


def test_six_senders_at_once_are_all_answered_each_in_a_turn_of_its_own(tmp_path: Path) -> None:
    with ScriptedOpenAI(answer) as provider, serving_embedded(tmp_path, provider) as served:
        url = served.url
        with Letta(base_url=url, api_key="any", max_retries=0) as client:
            agent: AgentState = client.agents.create(
                model=HANDLE, memory_blocks=[{"label": "human", "value": ""}], tools=["memory_insert"]
            )
        together = threading.Barrier(SENDERS, timeout=PATIENCE)

        def sends(number: int) -> list[str]:
            with Letta(base_url=url, api_key="any", max_retries=0, timeout=PATIENCE) as mine:
                together.wait()
                reply = mine.agents.messages.create(agent.id, messages=[{"role": "user", "content": f"message {number}"}])
                assert reply.stop_reason.stop_reason == "end_turn"
                return said(reply)

        with ThreadPoolExecutor(SENDERS) as pool:
            answers = list(pool.map(sends, range(SENDERS)))
        assert [[one.rsplit("message", 1)[1].strip(' "}') for one in mine] for mine in answers] == [
            [str(number)] for number in range(SENDERS)
        ]
        with Letta(base_url=url, api_key="any", max_retries=0) as client:
            log = client.agents.messages.list(agent.id, order="asc", limit=200).items
            told = [message.content for message in log if message.message_type == "user_message"]
            assert sorted(told) == [f"message {number}" for number in range(SENDERS)]
            writers = [run_id for run_id, _ in groupby(message.run_id for message in log if message.run_id)]
            assert len(writers) == len(set(writers)) == SENDERS, "turns are interleaved"
            kinds = [message.message_type for message in log if message.run_id]
            turn = ["user_message", "tool_call_message", "tool_return_message", "assistant_message"]
            assert kinds == turn * SENDERS
            memory = client.agents.blocks.retrieve("human", agent_id=agent.id).value
            assert all(memory.count(text) == 1 for text in told)
            last = client.agents.messages.create(agent.id, messages=[{"role": "user", "content": "message last"}])
            assert len(said(last)) == 1
        window = provider.requests[-1].body["messages"]
        assert [text for text in told if not any(text in str(message["content"]) for message in window)] == []
