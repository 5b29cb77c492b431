"""Tools through the SDK (Letta V1 API, API 2.9 and 3)."""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from letta_client import BadRequestError, Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import HANDLE, Said, calls
from tests.compat.replies import returns

V1_TOOLS = sorted(
    [
        "send_message",
        "conversation_search",
        "archival_memory_insert",
        "archival_memory_search",
        "core_memory_append",
        "core_memory_replace",
        "memory",
        "memory_apply_patch",
        "memory_replace",
        "memory_insert",
        "memory_rethink",
        "memory_finish_edits",
        "send_message_to_agent_and_wait_for_reply",
        "send_message_to_agents_matching_tags",
        "send_message_to_agent_async",
        "store_memories",
        "rethink_user_memory",
        "finish_rethinking_memory",
        "search_memory",
        "run_code",
        "run_code_with_tools",
        "web_search",
        "fetch_webpage",
        "open_files",
        "grep_files",
        "semantic_search_files",
    ]
)
"""The names of V1's built-in tools."""
PAGE = (Path(__file__).parents[2] / "docs" / "teams.md").read_text(encoding="utf-8")
AND_WAIT, ONE_WAY = "send_message_to_agent_and_wait_for_reply", "send_message_to_agent_async"
BY_TAGS = "send_message_to_agents_matching_tags"
MISSING = "tool-00000000-0000-4000-8000-000000000000"


def source(name: str, text: str = "Roll a die.") -> str:
    return f'def {name}(sides: int = 6) -> int:\n    """{text}\n\n    Args:\n        sides (int): How many sides.\n    """\n    return 4\n'


@pytest.mark.manifest("tools.create", "tools.upsert", "tools.retrieve", "tools.source_type")
@pytest.mark.deployed
def test_a_tool_is_made_from_its_source_and_made_again_under_its_name(client: Letta) -> None:
    tool = client.tools.create(source_code=source("roll"), tags=["dice"], return_char_limit=99)
    assert (tool.name, tool.tool_type, tool.source_type, tool.description) == ("roll", "custom", "json", "Roll a die.")
    assert tool.json_schema == {
        "name": "roll",
        "description": "Roll a die.",
        "parameters": {
            "type": "object",
            "properties": {"sides": {"type": "integer", "description": "How many sides."}},
            "required": [],
        },
    }
    assert client.tools.retrieve(tool.id) == tool
    again = client.tools.upsert(source_code=source("roll", "Throw it."))
    assert (again.id, again.tags, again.description) == (tool.id, ["dice"], "Throw it.")
    assert client.tools.create(source_code=source("roll")).id == tool.id
    with pytest.raises(NotFoundError):
        client.tools.retrieve(MISSING)


@pytest.mark.manifest("tools.create.errors")
def test_a_source_that_is_no_tool_is_refused(client: Letta, http: httpx.Client) -> None:
    for text, code in (("line 1", "def f(:"), ("docstring", "def f():\n    return 1"), ("48", source("x" * 49))):
        with pytest.raises(BadRequestError, match=text):
            client.tools.create(source_code=code)
    with pytest.raises(UnprocessableEntityError):
        client.tools.create(source_code="function f() {}", source_type="typescript")
    with pytest.raises(BadRequestError, match="built-in"):
        client.tools.create(source_code=source("send_message"))
    for name in ("größe", "a tool", "a.tool", "a\n"):
        with pytest.raises(BadRequestError, match="not all models take others"):
            client.tools.create(source_code=source("größe"), json_schema={"name": name, "parameters": {"type": "object"}})
    with pytest.raises(BadRequestError, match="not all models take others"):
        client.tools.create(source_code=source("größe"))
    assert http.post("/v1/tools/", json={}).status_code == 422
    unknown = http.post("/v1/tools/", json={"source_code": source("f"), "name": "f"})
    assert (unknown.status_code, "extra_forbidden" in unknown.json()["detail"]) == (422, True)


@pytest.mark.manifest("tools.update")
def test_a_tool_is_changed_and_renamed_with_its_schema(client: Letta) -> None:
    tool = client.tools.create(source_code=source("before"))
    client.tools.create(source_code=source("taken"))
    assert client.tools.update(tool.id, description="new", tags=["x"]).tags == ["x"]
    assert client.tools.update(tool.id, source_code=source("before", "Other.")).json_schema == tool.json_schema
    with pytest.raises(BadRequestError, match="does not match"):
        client.tools.update(tool.id, source_code=source("after"))
    schema = {**(tool.json_schema or {}), "name": "after"}
    renamed = client.tools.update(tool.id, source_code=source("after"), json_schema=schema)
    assert renamed.name == "after"
    with pytest.raises(BadRequestError, match="already exists"):
        client.tools.update(tool.id, source_code=source("taken"), json_schema={**schema, "name": "taken"})
    with pytest.raises(NotFoundError):
        client.tools.update(MISSING, tags=[])


@pytest.mark.manifest("tools.list", "tools.list.filters", "tools.count")
def test_tools_are_listed_by_what_they_are(client: Letta, http: httpx.Client) -> None:
    tool = client.tools.create(source_code=source("listed_here"))
    assert [one.name for one in client.tools.list(name="listed_here")] == ["listed_here"]
    assert {one.name for one in client.tools.list(names=["listed_here", "memory"])} == {"listed_here", "memory"}
    assert [one.id for one in client.tools.list(tool_ids=[tool.id])] == [tool.id]
    assert [one.id for one in client.tools.list(search="LISTED_")] == [tool.id]
    assert tool.id in {one.id for one in client.tools.list(tool_types=["custom"], limit=3)}
    assert {one.tool_type for one in client.tools.list(exclude_tool_types=["custom"])} == {
        "letta_builtin",
        "letta_core",
        "letta_files_core",
        "letta_memory_core",
        "letta_multi_agent_core",
        "letta_sleeptime_core",
        "letta_voice_sleeptime_core",
    }
    assert "conversation_search" in {one.name for one in client.tools.list(return_only_letta_tools=True)}
    assert len(http.get("/v1/tools/", params={"names": "listed_here,memory"}).json()) == 2
    with pytest.raises(BadRequestError, match="letta_core"):
        client.tools.list(tool_types=["odd"])
    every = len(list(client.tools.list()))
    assert http.get("/v1/tools/count").json() == every


@pytest.mark.manifest("tools.delete", "tools.delete.detaches")
@pytest.mark.deployed
def test_a_deleted_tool_leaves_its_agents(client: Letta, new_agent: Callable[..., Any]) -> None:
    tool = client.tools.create(source_code=source("going"))
    agent = new_agent(tool_ids=[tool.id])
    assert client.tools.delete(tool.id) is None
    assert "going" not in {one.name for one in client.agents.tools.list(agent.id)}
    with pytest.raises(NotFoundError, match=f"Tool with id {tool.id} not found."):
        client.tools.delete(tool.id)


@pytest.mark.manifest("tools.builtin", "tools.add_base")
@pytest.mark.deployed
def test_built_in_tools_are_there_and_stay(client: Letta, http: httpx.Client) -> None:
    tool = client.tools.list(name="memory_insert").items[0]
    assert client.tools.retrieve(tool.id).json_schema is not None
    assert client.tools.update(tool.id, return_char_limit=60_000).return_char_limit == 60_000
    for refused in (lambda: client.tools.delete(tool.id), lambda: client.tools.update(tool.id, source_code="def f(): ...")):
        with pytest.raises(BadRequestError, match="built-in"):
            refused()
    added = {one["name"]: one for one in http.post("/v1/tools/add-base-tools").json()}
    assert added["memory_insert"]["id"] == tool.id
    assert sorted(added) == V1_TOOLS
    assert {one["name"] for one in added.values() if one["tool_type"] == "letta_builtin"} == {
        "fetch_webpage",
        "run_code",
        "run_code_with_tools",
        "web_search",
    }


@pytest.mark.manifest("agents.create.multi_agent_tools")
def test_tools_between_agents_are_attached(client: Letta) -> None:
    agent = client.agents.create(model=HANDLE, include_base_tools=False, extra_body={"include_multi_agent_tools": True})
    assert {tool.tool_type for tool in agent.tools} == {"letta_multi_agent_core"}
    assert len(agent.tools) == 3


@pytest.mark.manifest("tools.run")
def test_a_source_is_run_without_being_stored(http: httpx.Client) -> None:
    before = http.get("/v1/tools/count").json()
    code = "def add(a: int, b: int):\n    import os\n    print(os.environ['KEY'])\n    return a + b"
    body = {"source_code": code, "args": {"a": 1, "b": 2}, "env_vars": {"KEY": "k"}}
    answer = http.post("/v1/tools/run", json=body).json()
    assert (answer["message_type"], answer["status"], answer["tool_return"]) == ("tool_return_message", "success", "3")
    assert (answer["id"], answer["tool_call_id"], "".join(answer["stdout"]).strip()) == ("null", "null", "k")
    failed = http.post("/v1/tools/run", json={"source_code": "def f():\n    raise ValueError('no luck')", "args": {}}).json()
    assert (failed["status"], "no luck" in "".join(failed["stderr"])) == ("error", True)
    assert http.get("/v1/tools/count").json() == before


@pytest.mark.manifest("tools.search")
def test_tools_are_found_by_their_words(client: Letta) -> None:
    code = 'def throw_cubes(sides: int):\n    """Roll wooden dice.\n\n    Args:\n        sides: How many faces each has.\n    """'
    made = client.tools.create(source_code=code, tags=["game"])
    best = client.tools.search(query="dice with many faces", search_mode="fts")[0]
    assert (best.tool.id, best.fts_rank, best.vector_rank, 0 < best.combined_score <= 1) == (made.id, 1, None, True)
    assert [hit.tool.name for hit in client.tools.search(query="throw", tags=["game", "other"])] == ["throw_cubes"]
    assert client.tools.search(query="dice", tool_types=["letta_core"]) == []
    web = client.tools.search(query="search the web", tool_types=["letta_builtin"], limit=1)
    assert [hit.tool.name for hit in web] == ["web_search"]
    assert [hit.tool.id for hit in client.tools.search(tags=["game"])] == [made.id]
    for refused in ({"search_mode": "vector"}, {"tool_types": ["odd"]}, {"limit": 0}):
        with pytest.raises(BadRequestError):
            client.tools.search(query="dice", **refused)  # type: ignore[arg-type]


@pytest.mark.manifest("tools.generate_schema")
def test_a_schema_is_derived(http: httpx.Client) -> None:
    schema = http.post("/v1/tools/generate-schema", json={"code": source("shown")}).json()
    assert (schema["name"], list(schema["parameters"]["properties"])) == ("shown", ["sides"])
    assert http.post("/v1/tools/generate-schema", json={"code": "def f(:"}).status_code == 400


# messages between agents


def lead_and_other(client: Letta, *, tags: tuple[str, ...] = ()) -> tuple[Any, Any]:
    """An agent with the tools, and another one."""
    lead = client.agents.create(model=HANDLE, include_base_tools=False, extra_body={"include_multi_agent_tools": True})
    return lead, client.agents.create(model=HANDLE, include_base_tools=False, tags=list(tags))


@pytest.mark.manifest("tools.agents.async")
def test_an_agent_tells_another_one_something(client: Letta, said: Said) -> None:
    lead, other = lead_and_other(client)
    said.next(calls((ONE_WAY, {"message": "The sky is clear.", "other_agent_id": other.id})), {"content": "Good."})
    response = client.agents.messages.create(lead.id, input="Tell them.")
    assert returns(response) == [("success", "Successfully sent message")]
    runs = settled(client, other.id)
    assert [(run.metadata["calling_agent"], run.background) for run in runs] == [(lead.id, True)]
    got = [message for message in client.agents.messages.list(other.id) if message.message_type == "system_message"][-1]
    assert got.content.startswith(f"[Incoming message from agent with ID '{lead.id}'")


@pytest.mark.manifest("tools.agents.reply")
@pytest.mark.deployed
def test_the_reply_of_another_agent_is_the_return_in_one_run(client: Letta, said: Said) -> None:
    lead, other = lead_and_other(client)
    asks = calls((AND_WAIT, {"message": "Which book?", "other_agent_id": other.id}))
    said.next(asks, {"content": "Moby Dick."}, {"content": "They have Moby Dick."})
    response = client.agents.messages.create(lead.id, input="Ask.")
    assert returns(response) == [("success", str({"agent_id": other.id, "response": ["Moby Dick."]}))]
    assert [message.message_type for message in response.messages][-1] == "assistant_message"
    assert response.stop_reason.stop_reason == "end_turn"
    (run,) = client.runs.list(agent_id=lead.id).items
    assert run.status == "completed"
    said.next(asks, {"content": "Moby Dick."}, {"content": "The same."})
    events = list(client.agents.messages.create(lead.id, input="Ask again.", streaming=True))
    kinds = [event.message_type for event in events if event.message_type != "ping"]
    assert kinds == ["tool_call_message", "tool_return_message", "assistant_message", "stop_reason", "usage_statistics"]
    said.next(calls((AND_WAIT, {"message": "Me?", "other_agent_id": lead.id})), {"content": "No."})
    ((status, text),) = returns(client.agents.messages.create(lead.id, input="Ask yourself."))
    assert (status, "your own id" in text) == ("error", True)


@pytest.mark.manifest("tools.agents.reply")
def test_a_run_that_waits_for_a_reply_is_running(client: Letta, said: Said) -> None:
    lead, other = lead_and_other(client)
    asks = calls((AND_WAIT, {"message": "Which book?", "other_agent_id": other.id}))
    said.next(asks, {"content": "Moby Dick."}, {"content": "They have Moby Dick."})
    reached, answer = threading.Event(), threading.Event()
    usual = said.server.script

    def held(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        if "Incoming message" in str(messages[-1].get("content")):
            reached.set()
            assert answer.wait(60)
        return usual(messages, tools)

    said.server.script = held
    run = client.agents.messages.create_async(lead.id, input="Ask.")
    assert reached.wait(60)
    waiting = client.runs.retrieve(run.id)
    assert (waiting.status, waiting.stop_reason, waiting.completed_at) == ("running", None, None)
    answer.set()
    events = list(client.runs.messages.stream(run.id))
    assert [event.message_type for event in events if event.message_type == "assistant_message"] == ["assistant_message"]
    assert client.runs.retrieve(run.id).stop_reason == "end_turn"


@pytest.mark.manifest("tools.agents.tags")
@pytest.mark.deployed
def test_agents_with_a_tag_answer(client: Letta, said: Said) -> None:
    lead, other = lead_and_other(client, tags=("whales",))
    asks = calls((BY_TAGS, {"message": "Which book?", "match_all": ["whales"], "match_some": []}))
    said.next(asks, {"content": "Moby Dick."}, {"content": "Done."})
    response = client.agents.messages.create(lead.id, input="Ask.")
    ((status, text),) = returns(response)
    assert (status, ast.literal_eval(text)) == ("success", [{"agent_id": other.id, "response": ["Moby Dick."]}])


def test_the_program_of_the_page_runs(client: Letta, said: Said, capsys: pytest.CaptureFixture[str]) -> None:
    program = re.search(r"<!-- run by tests/compat/test_tools.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert program is not None
    known: list[str] = []

    create = client.agents.create

    def made(**fields: Any) -> Any:
        agent = create(model=HANDLE, **fields)
        known.append(agent.id)
        if fields.get("tools"):
            said.next(
                calls((AND_WAIT, {"message": "Which book?", "other_agent_id": known[0]})),
                {"content": "Moby Dick."},
                {"content": "We have Moby Dick."},
            )
        return agent

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(client.agents, "create", made)
        exec(program[1].replace("from letta_client import Letta", ""), {"Letta": lambda **_: client})
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"the librarian: {{'agent_id': '{known[0]}', 'response': ['Moby Dick.']}}"
    assert told[1] == "the lead: We have Moby Dick."
    assert told[2].endswith(f"completed asked by {known[1]}")


def settled(client: Letta, agent_id: str) -> list[Any]:
    """The runs of an agent, when they have ended: the stream of a run ends with it."""
    runs = list(client.runs.list(agent_id=agent_id))
    for run in runs:
        list(client.runs.messages.stream(run.id))
    return [client.runs.retrieve(run.id) for run in runs]
