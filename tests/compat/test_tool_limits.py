"""Time limits of tools, async tools, and tools at once, through the SDK."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack, suppress

import httpx
import pytest
from letta_client import BadRequestError, Letta

from tests.compat.conftest import HANDLE, Said, calls
from tests.compat.replies import every_return, returns

pytestmark = pytest.mark.deployed

ENDLESS = '''
def wait() -> str:
    """Wait."""
    while True:
        pass
'''
ASYNC = '''
async def add(a: int, b: int) -> int:
    """Add.

    Args:
        a: One.
        b: Other.
    """
    import asyncio

    await asyncio.sleep(0)
    return a + b
'''


MEET = '''
def meet(port: int) -> str:
    """Wait for another call.

    Args:
        port: Where.
    """
    import socket

    with socket.create_connection(("127.0.0.1", port)) as line:
        return line.makefile().readline().strip()
'''


@pytest.mark.manifest("tools.timeout")
def test_a_tool_has_a_time_limit_of_its_own(client: Letta, http: httpx.Client, said: Said) -> None:
    tool = client.tools.create(source_code=ENDLESS, extra_body={"metadata_": {"timeout_seconds": 1}})
    agent = client.agents.create(model=HANDLE, include_base_tools=False, tool_ids=[tool.id])
    said.next(calls(("wait", {})), {"content": "It takes too long."})
    response = client.agents.messages.create(agent_id=agent.id, input="Wait.")
    ((status, text),) = returns(response)
    assert (status, "longer than the 1 seconds that a tool may take" in text) == ("error", True)
    once = http.post("/v1/tools/run", json={"source_code": ENDLESS, "args": {}, "metadata_": {"timeout_seconds": 0.5}}).json()
    assert (once["status"], "longer than the 0.5 seconds" in once["tool_return"]) == ("error", True)
    with pytest.raises(BadRequestError, match="timeout_seconds"):
        client.tools.update(tool.id, metadata={"timeout_seconds": 0})
    client.tools.update(tool.id, metadata={"timeout_seconds": 7})
    assert (client.tools.upsert(source_code=ENDLESS).metadata or {})["timeout_seconds"] == 7


@pytest.mark.manifest("tools.async")
def test_an_async_function_is_a_tool(client: Letta, said: Said) -> None:
    tool = client.tools.create(source_code=ASYNC)
    assert list((tool.json_schema or {})["parameters"]["properties"]) == ["a", "b"]
    agent = client.agents.create(model=HANDLE, include_base_tools=False, tool_ids=[tool.id])
    said.next(calls(("add", {"a": 2, "b": 3})), {"content": "Five."})
    assert returns(client.agents.messages.create(agent_id=agent.id, input="Add.")) == [("success", "5")]


@pytest.mark.manifest("tools.parallel")
def test_calls_of_a_marked_tool_are_made_at_once(client: Letta, said: Said) -> None:
    tool = client.tools.create(source_code=MEET, enable_parallel_execution=True)
    agent = client.agents.create(model=HANDLE, include_base_tools=False, tool_ids=[tool.id])
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(50)
        answers = threading.Thread(target=_answer, args=(server, 2))
        answers.start()
        call = ("meet", {"port": server.getsockname()[1]})
        said.next(calls(call, call), {"content": "They met."})
        response = client.agents.messages.create(agent_id=agent.id, input="Meet.")
        answers.join()
    assert every_return(response) == [("success", "met"), ("success", "met")]


def _answer(server: socket.socket, count: int) -> None:
    """Answer when so many calls are under way; until then nobody gets an answer."""
    with ExitStack() as opened, suppress(TimeoutError):
        lines = [opened.enter_context(server.accept()[0]) for _ in range(count)]
        for line in lines:
            line.sendall(b"met\n")


@pytest.mark.parametrize(("kind", "shell"), [("str", "'%s'"), ("dict", "{'a': '%s'}"), ("list", "['%s']")])
@pytest.mark.parametrize("length", [2_000, 30_000])
def test_a_return_of_any_kind_is_cut_at_its_tools_limit(client: Letta, said: Said, kind: str, shell: str, length: int) -> None:
    source = f'def big() -> {kind}:\n    """Return much."""\n    return {shell % ("x" * length)}\n'
    tool = client.tools.upsert(source_code=source, return_char_limit=1_000)
    agent = client.agents.create(model=HANDLE, include_base_tools=False, tool_ids=[tool.id])
    said.next(calls(("big", {})), {"content": "Much."})
    ((status, text),) = returns(client.agents.messages.create(agent_id=agent.id, input="Go."))
    content, _, note = text.partition("... [")
    assert (status, len(content)) == ("success", 1_000)
    outside = {"str": 0, "dict": len('{"a": ""}'), "list": len('[""]')}[kind]
    assert note == f"function output was truncated after 1000 characters, the tool's limit, of {length + outside}]"
    assert len(said.server.requests[-1].body["messages"][-1]["content"]) < 1_300
