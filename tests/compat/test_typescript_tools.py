"""Tools in TypeScript, through the SDK."""

from __future__ import annotations

import json

import httpx
import pytest
from letta_client import BadRequestError, Letta, UnprocessableEntityError

from tests.compat.conftest import HANDLE, Said, calls
from tests.compat.replies import every_return
from tests.support.page_programs import program_of

GREET = """
enum Tone { Warm = "warm", Cool = "cool" }

/**
 * Greet somebody.
 *
 * @param name Whom.
 * @param times - How often.
 */
export async function greet(name: string, times: number, tone: Tone = Tone.Warm): Promise<object> {
  console.log("greeting");
  return { text: Array(times).fill(`Hello ${name}`).join(", "), tone, key: process.env.KEY };
}
"""
SCHEMA = {
    "name": "greet",
    "description": "Greet somebody.",
    "parameters": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Whom."},
            "times": {"type": "number", "description": "How often."},
            "tone": {"type": "string", "enum": ["warm", "cool"]},
        },
        "required": ["name", "times"],
    },
}


@pytest.mark.manifest("tools.typescript")
@pytest.mark.deployed
def test_a_tool_in_typescript_is_made_from_its_source_and_called(client: Letta, said: Said) -> None:
    tool = client.tools.create(source_code=GREET, source_type="typescript")
    assert (tool.name, tool.source_type, tool.json_schema) == ("greet", "typescript", SCHEMA)
    agent = client.agents.create(model=HANDLE, include_base_tools=False, tool_ids=[tool.id], secrets={"KEY": "k"})
    said.next(calls(("greet", {"name": "Ann", "times": 2}), ("greet", {"name": "Bo", "times": -1})), {"content": "Done."})
    response = client.agents.messages.create(agent_id=agent.id, input="Greet Ann.")
    (good, text), (bad, why) = every_return(response)
    assert (good, bad) == ("success", "error")
    assert (json.loads(text.replace("'", '"')), "RangeError: Invalid array length" in why) == (
        {"text": "Hello Ann, Hello Ann", "tone": "warm", "key": "k"},
        True,
    )
    tried = client.agents.tools.run("greet", agent_id=agent.id, args={"name": "Cy", "times": 1, "tone": "cool"})
    assert (tried.status, tried.func_return, tried.stdout) == (
        "success",
        {"text": "Hello Cy", "tone": "cool", "key": "k"},
        ["greeting\n"],
    )
    failed = client.agents.tools.run("greet", agent_id=agent.id, args={"name": "Cy", "times": -1})
    assert "at greet (<tool>:12:" in "".join(failed.stderr or [])


@pytest.mark.manifest("tools.typescript", "tools.create.errors", "tools.npm_requirements")
def test_a_source_in_typescript_that_cannot_be_used_is_refused(client: Letta) -> None:
    def create(source: str, **fields: object) -> None:
        client.tools.create(source_code=source, source_type="typescript", extra_body=fields)

    with pytest.raises(BadRequestError, match="line 2, column 21"):
        create("/** Does. */\nfunction f(a: string { return a }")
    with pytest.raises(UnprocessableEntityError, match="json_schema"):
        create("function f() {}")
    with pytest.raises(UnprocessableEntityError, match="line 1, column 28"):
        create("/** Does. */ function f(a: Map<string, number>) {}")
    with pytest.raises(BadRequestError, match="no function called g"):
        create("function f() {}", json_schema={"name": "g", "parameters": {}})
    with pytest.raises(BadRequestError, match="left-pad"):
        create("/** Does. */ function f() {}", npm_requirements=[{"name": "left-pad"}])


@pytest.mark.manifest("tools.typescript", "tools.run", "tools.generate_schema")
@pytest.mark.deployed
def test_a_source_in_typescript_is_described_and_run_once(http: httpx.Client) -> None:
    source = {"source_type": "typescript", "source_code": GREET}
    described = http.post("/v1/tools/generate-schema", json={"source_type": "typescript", "code": GREET})
    assert (described.status_code, described.json()) == (200, SCHEMA)
    ran = http.post("/v1/tools/run", json={**source, "args": {"name": "Ann", "times": "1"}, "env_vars": {"KEY": "x"}}).json()
    assert (ran["status"], ran["tool_return"], ran["stdout"]) == (
        "success",
        "{'text': 'Hello Ann', 'tone': 'warm', 'key': 'x'}",
        ["greeting\n"],
    )
    broken = http.post("/v1/tools/run", json={**source, "source_code": "function f( {", "args": {}})
    assert (broken.status_code, "column" in broken.json()["detail"]) == (400, True)


@pytest.mark.manifest("tools.run_code")
def test_an_agent_runs_code_in_javascript_and_typescript(client: Letta, said: Said) -> None:
    agent = client.agents.create(model=HANDLE, include_base_tools=False, tools=["run_code"])
    typed = "import { basename } from 'node:path';\nconsole.log('hi');\nconst n: number = await Promise.resolve(2);\nbasename('/a') + n"
    said.next(
        calls(("run_code", {"code": typed, "language": "ts"}), ("run_code", {"code": "null.x", "language": "js"})),
        {"content": "Done."},
    )
    response = client.agents.messages.create(agent_id=agent.id, input="Run it.")
    first, second = (json.loads(text) for _, text in every_return(response))
    assert first == {"results": ["a2"], "logs": {"stdout": ["hi\n"], "stderr": []}}
    assert (second["results"], second["error"]["name"]) == ([], "TypeError")


def test_the_program_of_the_page_runs(client: Letta, capsys: pytest.CaptureFixture[str]) -> None:
    program, printed = program_of("tools.md", "test_typescript_tools.py")
    exec(program, {"Letta": lambda **_: client})
    assert capsys.readouterr().out.strip() == printed
