"""The built-in tools that reach outside: what each returns, in V1's form, and that each call is made at most once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from hibernaut.adapters.addresses import ANYWHERE
from hibernaut.adapters.files.child_process import ChildFileReader
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.web.http import HttpWeb
from hibernaut.adapters.web.search_engines import WebSearchEngines
from hibernaut.domain.agents.agent_calls import AGENT_CALLS
from hibernaut.domain.tools.builtin.builtin_online_schemas import ONLINE_DEFINITIONS, UNAVAILABLE
from hibernaut.domain.tools.builtin.builtin_tools import builtin_tools
from hibernaut.domain.turn.actor import Call
from hibernaut.domain.window.open_calls import INTERRUPTED
from hibernaut.ports.tools.tool_runner import ToolRunner
from hibernaut.ports.tools.web import NoWeb, WebFailure, WebPage
from hibernaut.schemas.agents.agent import StoredSecret
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.runs.turn import ClaimedResult
from hibernaut.schemas.tools.tool_rule import ToolRule
from hibernaut.services.tool_calls.online_tools import MOST_BYTES
from hibernaut.store.runs.runs import RunState
from tests.support.scripted_model import calls, in_turn, says
from tests.support.search_servers import EXA_KEY, ExaServer
from tests.support.world import World, data_in

TOOLS = ("fetch_webpage", "web_search", "run_code", "run_code_with_tools")
URL = "https://birds.example/"
HTML = (
    b"<html><head><title>Birds</title><script>var x</script></head><body><nav>Home</nav><h1>Parrots</h1><p>Green &amp; "
    b'<a href="/blue">blue</a>.</p></body></html>'
)


@dataclass
class Shelf(NoWeb):
    """A web of one page. `dies`: the process dies while it reads."""

    holds: WebPage | Exception | None = None
    dies: bool = False
    asked: list[tuple[str, int]] = field(default_factory=list)

    def page(self, url: str, *, seconds: float, most: int) -> WebPage:  # noqa: ARG002  as the port
        self.asked.append((url, most))
        if self.dies:
            raise Died
        if isinstance(self.holds, Exception):
            raise self.holds
        assert self.holds is not None
        return self.holds


class Died(BaseException):
    """The process, in the middle of it."""


def page(data: bytes, content_type: str, status: int = 200, *, truncated: bool = False) -> WebPage:
    return WebPage(status, content_type, data, URL, truncated)


@dataclass
class House:
    """A process with one agent that has the tools."""

    world: World
    shelf: Shelf
    agent_id: str

    def call(self, name: str, **args: object) -> ClaimedResult:
        run = StoredRun(id="null", agent_id=self.agent_id, created_at=self.world.clock.now(), options=RunOptions(max_steps=1))
        work = self.world.chain.loader.load(RunState(run=run))
        return self.world.chain.calls.performed(work, Call(id="call", name=name, args=dict(args)), builtin_tools()[name])

    def json(self, name: str, **args: object) -> tuple[str, Any]:
        result = self.call(name, **args)
        return result.status, json.loads(str(result.value if result.status == "success" else result.error))


def house(
    folder: Path,
    runner: ToolRunner | None = None,
    *,
    tools: tuple[str, ...] = TOOLS,
    rules: Sequence[ToolRule] = (),
    **secrets: str,
) -> House:
    data, shelf = data_in(folder, in_turn(says("done"))), Shelf()
    data.runner = runner or data.runner  # type: ignore[assignment]  # the real one in place of the scripted one
    engines = WebSearchEngines(EnvironmentSecrets(secrets), HttpWeb(ANYWHERE))
    world = World(data, web=shelf, host={"reader": ChildFileReader(), "web_search": engines})
    return House(world, shelf, world.make_agent(tools=tools, rules=rules))


@pytest.fixture
def exa() -> Iterator[ExaServer]:
    with ExaServer() as server:
        yield server


@pytest.fixture
def children() -> Iterator[ChildProcessRunner]:
    runner = ChildProcessRunner()
    yield runner
    runner.close()


# pages


@pytest.mark.parametrize(
    ("data", "content_type", "text"),
    [
        (HTML, "text/html; charset=utf-8", "# Birds\n\n# Parrots\n\nGreen & [blue](https://birds.example/blue)."),
        ("<p>Größe</p>".encode("cp1252"), 'text/html; charset="windows-1252"', "Größe"),
        (b"<p>Plain</p>", "text/html; charset=no-such-one", "Plain"),
        (b"<p>Plain</p>", "", "Plain"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        ("naïve".encode(), "text/plain", "naïve"),
        ("naïve".encode(), "text/plain; charset", "naïve"),
        ("naïve".encode(), "text/plain; charset=", "naïve"),
        ("naïve".encode(), 'text/plain; CHARSET = "utf-8', "naïve"),
        ("naïve".encode(), "text/plain; charset=utf-8, text/plain", "naïve"),
        ("Привет".encode("koi8-r"), "text/plain; format=flowed; charset='koi8-r'", "Привет"),
        ("éé".encode()[:-1], "text/plain", "é\ufffd"),
    ],
)
def test_a_page_is_returned_as_markdown(tmp_path: Path, data: bytes, content_type: str, text: str) -> None:
    at = house(tmp_path)
    at.shelf.holds = page(data, content_type)
    result = at.call("fetch_webpage", url=f" {URL} ")
    assert (result.status, result.value) == ("success", text)
    assert at.shelf.asked == [(URL, MOST_BYTES)]


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (page(b"x", "text/html", 404), "answered 404"),
        (page(b"\x89PNG", "image/png"), "it is no text (image/png)"),
        (page(b" ", "text/plain"), "holds no text"),
        (page(b"<script>x</script>", "text/html"), "holds no text"),
        (page(b"no pdf", "application/pdf"), "no PDF"),
        (WebFailure("its address leads to a private address"), "private address"),
    ],
)
def test_a_page_that_cannot_be_read_says_why(tmp_path: Path, found: WebPage | WebFailure, why: str) -> None:
    at = house(tmp_path)
    at.shelf.holds = found
    result = at.call("fetch_webpage", url=URL)
    assert (result.status, why in str(result.error)) == ("error", True)


def test_a_page_that_is_too_long_is_cut_and_says_so(tmp_path: Path) -> None:
    at = house(tmp_path)
    at.shelf.holds = page(b"x" * 300, "text/plain", truncated=True)
    assert str(at.call("fetch_webpage", url=URL).value).endswith(
        "[The page is longer than 10000000 bytes; this is its beginning.]"
    )
    at.shelf.holds = page(b"x" * 300_000, "text/plain")
    assert 100_000 < len(str(at.call("fetch_webpage", url=URL).value)) < 100_200


@pytest.mark.parametrize("args", [{}, {"url": 7}, {"url": " "}])
def test_an_address_is_needed(tmp_path: Path, args: dict[str, object]) -> None:
    at = house(tmp_path)
    assert (at.call("fetch_webpage", **args).status, at.shelf.asked) == ("error", [])


# searches


def test_results_have_the_form_of_v1(tmp_path: Path, exa: ExaServer) -> None:
    at = house(tmp_path, EXA_API_KEY=EXA_KEY, EXA_BASE_URL=exa.url)
    shown = {
        "title": "Parrots",
        "url": "https://birds.example/parrots",
        "published_date": "2026-03-01T00:00:00.000Z",
        "author": "Ann",
        "highlights": ["Green and blue."],
        "summary": "About parrots.",
    }
    assert at.json("web_search", query="parrots", num_results=1) == ("success", {"query": "parrots", "results": [shown]})
    _, with_text = at.json("web_search", query="parrots", num_results=1, include_text=True, category="pdf")
    assert with_text == {
        "query": "parrots",
        "results": [{**shown, "text": "All about parrots."}],
        "ignored_arguments": ["category"],
    }


def test_the_key_among_an_agents_secrets_is_used(tmp_path: Path, exa: ExaServer) -> None:
    at = house(tmp_path, EXA_BASE_URL=exa.url)
    status, said = at.json("web_search", query="parrots")
    assert (status, "set EXA_API_KEY among the agent's secrets" in said["error"]) == ("error", True)
    agents = at.world.stores.agents
    agent = agents.get(at.agent_id)
    assert agent is not None
    own = StoredSecret(id="secret-1", key="EXA_API_KEY", value=f"{EXA_KEY}-of-an-agent", agent_id=agent.id)
    at.world.stores.writer.write(*agents.change(agent, agent.model_copy(update={"secrets": [own]}), "token"), token="token")
    assert at.json("web_search", query="parrots")[0] == "success"
    assert exa.keys == [f"{EXA_KEY}-of-an-agent"]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({}, "Query cannot be empty"),
        ({"query": " "}, "Query cannot be empty"),
        ({"query": "x", "num_results": 0}, "num_results must be a number from 1 to 100"),
        ({"query": "x", "num_results": "many"}, "num_results must be a number from 1 to 100"),
        ({"query": "x", "include_domains": "a.example"}, "include_domains must be a list of texts"),
        ({"query": "x", "category": 7}, "category must be a text"),
    ],
)
def test_arguments_that_are_none_are_told_and_nothing_is_asked(
    tmp_path: Path, exa: ExaServer, args: dict[str, object], why: str
) -> None:
    at = house(tmp_path, EXA_API_KEY=EXA_KEY, EXA_BASE_URL=exa.url)
    status, said = at.json("web_search", **args)
    assert (status, why in said["error"], exa.asked) == ("error", True, [])


# code


def test_python_returns_its_last_value_and_what_it_printed(tmp_path: Path, children: ChildProcessRunner) -> None:
    at = house(tmp_path, children)
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nx = 20\nx + 22"
    status, said = at.json("run_code", code=code, language="python")
    assert (status, said["results"]) == ("success", ["42"])
    assert ["".join(said["logs"][name]).strip() for name in ("stdout", "stderr")] == ["out", "err"]
    assert "error" not in said


def test_an_error_of_the_code_is_part_of_the_return(tmp_path: Path, children: ChildProcessRunner) -> None:
    at = house(tmp_path, children)
    status, said = at.json("run_code", code="print('before')\n1 / 0", language="python")
    assert (status, said["error"]["name"], said["error"]["value"]) == ("success", "ZeroDivisionError", "division by zero")
    assert said["error"]["traceback"].splitlines()[1] == '  File "<code>", line 2, in <module>'
    assert at.json("run_code", code="def f(:", language="python")[1]["error"]["name"] == "SyntaxError"
    assert at.json("run_code", code="raise SystemExit(3)", language="python")[1]["error"]["name"] == "SystemExit"


def test_python_may_call_the_agents_own_tools_and_reads_none_of_its_secrets(tmp_path: Path, children: ChildProcessRunner) -> None:
    at = house(tmp_path, children, tools=(*TOOLS, "dice"))
    status, said = at.json("run_code", code="import os\ncallable(dice), sorted({*os.environ} - {'LC_CTYPE'})", language="python")
    assert (status, said["results"]) == ("success", ["(True, ['LETTA_AGENT_ID'])"]), said


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (None, True),
        ({"type": "requires_approval", "tool_name": "dice"}, False),
        ({"type": "max_count_per_step", "tool_name": "dice", "max_count_limit": 3}, False),
        ({"type": "parent_last_tool", "tool_name": "web_search", "children": ["dice"]}, False),
        ({"type": "run_first", "tool_name": "run_code"}, False),
        ({"type": "requires_approval", "tool_name": "run_code"}, True),
        ({"type": "exit_loop", "tool_name": "dice"}, True),
    ],
)
def test_code_reaches_no_tool_that_the_agents_rules_would_hold_or_refuse(
    tmp_path: Path, children: ChildProcessRunner, rule: dict[str, object] | None, found: bool
) -> None:
    at = house(tmp_path, children, tools=(*TOOLS, "dice"), rules=(TypeAdapter(ToolRule).validate_python(rule),) if rule else ())
    status, said = at.json("run_code", code="'dice' in globals()", language="python")
    assert (status, said["results"]) == ("success", [str(found)]), said


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"code": " ", "language": "python"}, "`code` must be"),
        ({"code": "1", "language": "java"}, "must be python, js or ts on this server, not 'java'"),
        ({"code": "1", "language": 7}, "must be python, js or ts"),
    ],
)
def test_what_cannot_be_run_says_why(tmp_path: Path, args: dict[str, object], why: str) -> None:
    result = house(tmp_path).call("run_code", **args)
    assert (result.status, why in str(result.error)) == ("error", True)


# all of them


def test_every_other_tool_says_what_to_use_instead(tmp_path: Path) -> None:
    names = {definition.name for definition in ONLINE_DEFINITIONS} - {"fetch_webpage", "web_search", "run_code", *AGENT_CALLS}
    assert names == set(UNAVAILABLE)
    at = house(tmp_path)
    assert at.call("run_code_with_tools", code="1").error == UNAVAILABLE["run_code_with_tools"]


def test_a_page_is_read_at_most_once_whatever_dies(tmp_path: Path) -> None:
    """A request may count, pay or unsubscribe: it is claimed like every outside call."""
    data = data_in(tmp_path, in_turn(calls(("fetch_webpage", {"url": URL})), says("done")))
    shelf = Shelf(page(b"text", "text/plain"), dies=True)
    world = World(data, web=shelf)
    agent_id = world.make_agent(tools=["fetch_webpage"])
    with pytest.raises(Died):
        world.send(agent_id, "Read it.")
    shelf.dies = False
    after = World(data, holder="host:2", web=shelf)
    after.sweep()
    (returned,) = [row for row in after.log(agent_id) if row.role == "tool"]
    assert (len(shelf.asked), INTERRUPTED in returned.text()) == (1, True)
