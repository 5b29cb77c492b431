"""Built-in tools that reach outside, through the SDK (RT 5)."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import HANDLE, Said, calls
from tests.compat.replies import returns
from tests.support.page_programs import program_of
from tests.support.search_servers import EXA_KEY, ExaServer


@pytest.mark.manifest("tools.online", "tools.fetch_webpage", "tools.run_code")
def test_the_program_of_the_sdks_readme_runs(client: Letta, http: httpx.Client, said: Said) -> None:
    agent = client.agents.create(
        model=HANDLE,
        memory_blocks=[{"label": "human", "value": "Name: Ann"}, {"label": "persona", "value": "I like to help."}],
        tools=["web_search", "run_code", "fetch_webpage"],
    )
    tools = {tool.name: tool for tool in client.agents.tools.list(agent.id)}
    assert {tools[name].tool_type for name in ("web_search", "run_code", "fetch_webpage")} == {"letta_builtin"}
    said.next(
        calls(("web_search", {"query": "parrots"}), ("run_code", {"code": "1", "language": "python"})),
        calls(("fetch_webpage", {"url": "http://127.0.0.1:9/"})),
        {"content": "I could not."},
    )
    response = client.agents.messages.create(agent_id=agent.id, messages=[{"role": "user", "content": "Look it up."}])
    returns = [
        one for message in response.messages if message.message_type == "tool_return_message" for one in message.tool_returns
    ]
    assert [one.status for one in returns] == ["error", "success", "error"]
    told = ["set EXA_API_KEY among the agent's secrets", '"results": ["1"]', "could not be read"]
    assert [text in str(one.tool_return) for text, one in zip(told, returns, strict=True)] == [True, True, True]
    assert (response.messages[-1].content, response.stop_reason.stop_reason) == ("I could not.", "end_turn")
    tried = client.agents.tools.run("web_search", agent_id=agent.id, args={"query": "x"})
    assert (tried.status, "fetch_webpage" in "".join(tried.stderr or [])) == ("error", True)


class Page(BaseHTTPRequestHandler):
    """One page, behind a redirect."""

    def do_GET(self) -> None:
        moved, page = self.path != "/page", b"<title>Birds</title><nav>Home</nav><main><h2>Parrots</h2><p>Green.</p></main>"
        self.send_response(302 if moved else 200)
        self.send_header("location", "/page") if moved else self.send_header("content-type", "text/html")
        self.send_header("content-length", "0" if moved else str(len(page)))
        self.end_headers()
        self.wfile.write(b"" if moved else page)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@pytest.mark.manifest("tools.fetch_webpage")
@pytest.mark.deployed
def test_an_agent_reads_a_page_as_markdown(client: Letta, said: Said) -> None:
    agent = client.agents.create(model=HANDLE, include_base_tools=False, tools=["fetch_webpage"])
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        said.next(calls(("fetch_webpage", {"url": url})), {"content": "They are green."})
        response = client.agents.messages.create(agent_id=agent.id, input="What is there?")
        server.shutdown()
        thread.join()
    assert returns(response) == [("success", "# Birds\n\n## Parrots\n\nGreen.")]


@pytest.mark.manifest("tools.web_search")
def test_an_agent_searches_the_web_by_a_key_of_its_own(client: Letta, said: Said, exa: ExaServer) -> None:
    agent = client.agents.create(model=HANDLE, include_base_tools=False, tools=["web_search"], secrets={"EXA_API_KEY": EXA_KEY})
    asked = len(exa.asked)
    said.next(calls(("web_search", {"query": "parrots", "num_results": 1})), {"content": "They are green."})
    response = client.agents.messages.create(agent_id=agent.id, input="What are parrots?")
    ((status, text),) = returns(response)
    shown = json.loads(text)
    assert (status, shown["query"], len(exa.asked) - asked) == ("success", "parrots", 1)
    assert set(shown["results"][0]) == {"title", "url", "published_date", "author", "highlights", "summary"}
    client.agents.update(agent.id, secrets={"EXA_API_KEY": "exa-wrong"})
    tried = client.agents.tools.run("web_search", agent_id=agent.id, args={"query": "x"})
    told = "".join(tried.stderr or [])
    assert (tried.status, "refused the key" in told, "exa-wrong" in told) == ("error", True, False)


def test_the_program_of_the_page_runs(client: Letta, capsys: pytest.CaptureFixture[str]) -> None:
    program, printed = program_of("tools.md", "test_online_tools.py")
    exec(program, {"Letta": lambda **_: client})
    assert capsys.readouterr().out.strip() == printed
