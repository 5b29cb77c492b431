"""The Vercel AI SDK talks to the server by Letta's provider for it, which brings the last TypeScript SDK before 1.0.

That SDK checks each event of a stream against the types that it knows, and fails at others. `make engines` fetches the packages,
pinned by the lock beside the program.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.node_programs import modules_of, ran
from tests.compat.conftest import HANDLE, calls
from tests.support.provider_servers import ScriptedOpenAI
from tools.engines import VERCEL_AI_SDK

PROGRAM = Path(__file__).parent / "vercel" / "chat.mjs"


@pytest.fixture(scope="module", autouse=True)
def packages() -> Path:
    return modules_of(VERCEL_AI_SDK)


def test_a_page_talks_to_an_agent(packages: Path, url: str, provider: ScriptedOpenAI, tmp_path: Path) -> None:
    script = [calls(("memory_insert", {"label": "human", "new_string": "Likes tea."})), {"content": "You like tea."}]
    provider.script = lambda *_: script.pop(0) if len(script) > 1 else script[0]
    told = ran(PROGRAM, packages, tmp_path, url, HANDLE)
    assert told["whole"]["text"] == "You like tea."
    assert told["whole"]["kinds"][:2] == ["tool-call", "text"]  # the provider does not read the tool's name, and says so
    for stream in told["streams"]:
        assert "".join(stream["texts"]) == "You like tea."
        assert (stream["kinds"][0], stream["kinds"][-1]) == ("start", "finish")
    assert told["said"] == ["assistant_message"]
    assert told["run"] == {"agentId": True, "status": "created"}
    assert told["log"][:5] == ["system_message", "user_message", "tool_call_message", "tool_return_message", "assistant_message"]
    assert told["shown"][:3] == ["system", "user", "assistant"]
    assert told["human"].strip() == "Likes tea."
    assert told["handle"] == HANDLE
    assert told["missing"] == 404
