"""Replies that take longer than their client is willing to be kept in silence. The server is the embedded one, with less
patience.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from letta_client import Letta

from hibernaut.rest.http.async_bridge import WaitSettings
from tests.compat.conftest import HANDLE, serving_embedded
from tests.support.provider_servers import ScriptedOpenAI

# The SDK calls its own stream() deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")
AT_ONCE = WaitSettings(plain=0, silence=0.01)


@contextmanager
def at(data: Path, provider: ScriptedOpenAI, waits: WaitSettings) -> Iterator[tuple[Letta, str]]:
    """A client of such a server, and an agent."""
    with serving_embedded(data, provider, waits) as served, Letta(base_url=served.url, api_key="any", max_retries=0) as client:
        yield client, client.agents.create(model=HANDLE).id


@pytest.mark.manifest("messages.send.slow")
def test_the_sdk_takes_a_reply_that_was_held_open(tmp_path: Path, provider: ScriptedOpenAI) -> None:
    provider.says(content="Hello.")
    with at(tmp_path, provider, AT_ONCE) as (client, agent):
        raw = client.agents.messages.with_raw_response.create(agent, input="hi")
        reply: Any = raw.parse()
        assert raw.headers["content-type"] == "application/json"
        assert raw.text().startswith(" ")
        assert [one.content for one in reply.messages] == ["Hello."]
        assert reply.usage.run_ids == [client.runs.list(agent_id=agent).items[0].id]


@pytest.mark.manifest("messages.send.slow")
def test_a_failure_after_the_reply_was_begun_is_a_stop_reason(tmp_path: Path, provider: ScriptedOpenAI) -> None:
    provider.says(status=401, body={"error": {"message": "bad key"}})
    with at(tmp_path, provider, AT_ONCE) as (client, agent):
        reply = client.agents.messages.create(agent, input="hi")
        assert (reply.messages, reply.stop_reason.stop_reason) == ([], "llm_api_error")
        assert reply.usage.run_ids
        assert client.runs.retrieve(reply.usage.run_ids[0]).status == "failed"


@pytest.mark.manifest("messages.stream.broken_off")
def test_a_stream_whose_time_is_over_ends_and_is_resumed(tmp_path: Path, provider: ScriptedOpenAI) -> None:
    provider.says(content="Hello.")
    with at(tmp_path, provider, WaitSettings(longest=0)) as (client, agent):
        first: Any = list(client.agents.messages.stream(agent, input="hi", background=True))
        seen = list(first)
        while getattr(seen[-1], "message_type", "") != "usage_statistics":
            last = max(getattr(one, "seq_id", None) or 0 for one in seen)
            more: Any = list(client.runs.messages.stream(first[0].run_id, starting_after=last, include_pings=False))
            seen += more
        assert [one.message_type for one in seen if one.message_type != "ping"] == [
            "assistant_message",
            "stop_reason",
            "usage_statistics",
        ]
