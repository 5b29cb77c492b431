"""The port `ToolRunner`: what a tool is given and what becomes of its return."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hibernaut.domain.tools.sources.tool_schema import derive_schema
from hibernaut.ports.tools.tool_runner import ToolRunner
from hibernaut.schemas.base import Json, JsonObject
from tests.contracts.tool_runner.conftest import job


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        ("None", None),
        ("True", True),
        ("5", 5),
        ("'größer \\U0001f996'", "größer 🦖"),
        ("'{\"a\": 1}'", '{"a": 1}'),
        ("{'a': [1, 2.5, None]}", {"a": [1, 2.5, None]}),
        ("(1, 2)", [1, 2]),
        ("{1}", "{1}"),
        ("{(1, 2): 3}", "{(1, 2): 3}"),
        ("[{1}, b'x']", ["{1}", "b'x'"]),
        ("float('nan')", "nan"),
        ("'\\ud800!'", "?!"),
        ("type('M', (), {'model_dump': lambda self, mode: {'mode': mode}})()", {"mode": "json"}),
        ("int", "<class 'int'>"),
    ],
)
def test_a_return_becomes_json_or_its_text(runner: ToolRunner, returned: str, value: Json) -> None:
    outcome = runner.run(job(f"def tool():\n    return {returned}\n"))
    assert (outcome.status, outcome.value, outcome.error) == ("success", value, None)


def test_a_return_that_contains_itself_becomes_its_text(runner: ToolRunner) -> None:
    outcome = runner.run(job("def tool():\n    a = []\n    a.append(a)\n    return a\n"))
    assert (outcome.status, outcome.value) == ("success", "[[...]]")


def test_a_pydantic_model_arrives_as_one_and_leaves_as_json(runner: ToolRunner) -> None:
    source = '''
    from __future__ import annotations
    from typing import List, Optional, Tuple
    from pydantic import BaseModel, Field

    class Point(BaseModel):
        x: int = Field(description="Across.")

    def tool(points: List[Point], one: Optional[Point], pair: Tuple[int, str]):
        """Do it.

        Args:
            points: Some points.
            one: One point.
            pair: Two things.
        """
        return {"sum": sum(p.x for p in points), "one": one, "pair": isinstance(pair, tuple)}
    '''
    ready = job(source)
    schema = derive_schema(ready.source_code)
    args = {"points": [{"x": "1"}, {"x": 2}], "one": {"x": 3}, "pair": [1, "b"]}
    outcome = runner.run(job(source, json_schema=schema, args=args))
    assert outcome.value == {"sum": 3, "one": {"x": 3}, "pair": True}, outcome.error


def test_a_source_may_define_dataclasses_with_annotations_as_text(runner: ToolRunner) -> None:
    source = """
    from __future__ import annotations
    from dataclasses import dataclass

    @dataclass
    class Point:
        x: int

    def tool():
        return Point(1).x
    """
    assert runner.run(job(source)).value == 1


SIGNATURE = '''
def tool(text: str, count: int, ratio: float, flag: bool, note: Optional[str]):
    """Do it.

    Args:
        text: A text.
        count: A count.
        ratio: A ratio.
        flag: A flag.
        note: A note.
    """
    return [text, count, ratio, flag, note]
'''


def test_arguments_are_made_to_fit_the_schema_and_strings_are_left_alone(runner: ToolRunner) -> None:
    args = {"text": '{"a": true}', "count": "3", "ratio": "0.5", "flag": "true", "request_heartbeat": True}
    source = "from typing import Optional\n" + SIGNATURE
    outcome = runner.run(job(source, args=args, json_schema=derive_schema(source)))
    assert outcome.value == ['{"a": true}', 3, 0.5, True, None]


def test_an_argument_left_out_is_its_default_else_none(runner: ToolRunner) -> None:
    schema = {"parameters": {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}}}}
    source = "def tool(a, b=7, *, c=8): return [a, b, c]"
    assert runner.run(job(source, json_schema=schema)).value == [None, 7, 8]


def test_an_argument_that_cannot_fit_is_an_error_that_names_it(runner: ToolRunner) -> None:
    source = "from typing import Optional\n" + SIGNATURE
    args = {"text": "a", "count": "three", "ratio": 1, "flag": True}
    outcome = runner.run(job(source, args=args, json_schema=derive_schema(source)))
    assert (
        outcome.error == "Error executing function tool: TypeError: argument 'count': expected an integer, not the string 'three'"
    )


def test_without_a_schema_the_arguments_are_passed_as_they_are(runner: ToolRunner) -> None:
    source = "def tool(a, /, b, *, c=1): return [a, b, c]"
    assert runner.run(job(source, args={"a": "1", "b": [2]})).value == ["1", [2], 1]
    assert "unexpected keyword argument 'd'" in str(runner.run(job(source, args={"a": 1, "b": 2, "d": 3})).error)


def test_an_async_function_and_a_decorated_one_are_called_too(runner: ToolRunner) -> None:
    source = """
    import asyncio, functools

    def twice(function):
        @functools.wraps(function)
        async def wrapper(*args, **kwargs):
            return 2 * await function(*args, **kwargs)
        return wrapper

    @twice
    async def tool(agent_id: str, n: int):
        await asyncio.sleep(0)
        return [agent_id, n]
    """
    assert runner.run(job(source, args={"n": 1}, agent_id="agent-1")).value == ["agent-1", 1, "agent-1", 1]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt: "),
        ("raise type('E', (Exception,), {'__str__': lambda self: 1})", "E: (an error without a readable text)"),
        ("return type('R', (), {'__str__': lambda self: 1 / 0})()", "ZeroDivisionError: division by zero"),
        ("import os; os._exit(0)", "RuntimeError: its process ended (exit code 0) before the function returned"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "RuntimeError: its process was killed (SIGSEGV), which is also",
        ),
        ("import sys; sys.stdout.close(); sys.stderr = None; 1 / 0", "ZeroDivisionError: division by zero"),
        ("return input()", "EOFError: EOF when reading a line"),
        ("raise ValueError('ü' * 5000)", f"ValueError: {'ü' * 900}"),
    ],
)
def test_a_failure_is_an_outcome_in_one_line(runner: ToolRunner, body: str, error: str) -> None:
    outcome = runner.run(job(f"def tool():\n    {body}\n"))
    assert (outcome.status, outcome.value) == ("error", None)
    assert str(outcome.error).startswith(f"Error executing function tool: {error}")
    assert len(str(outcome.error)) <= 1000


def test_the_traceback_starts_at_the_tools_own_line(runner: ToolRunner) -> None:
    outcome = runner.run(job("def inner():\n    return {}['missing']\n\ndef tool():\n    return inner()\n"))
    assert len(outcome.stderr) == 1
    lines = outcome.stderr[0].splitlines()
    assert lines[1:3] == ['  File "<tool>", line 5, in tool', "    return inner()"]
    assert lines[-1] == "KeyError: 'missing'"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("def tool(:\n", "SyntaxError"),
        ("x = '\ud800'\ndef tool(): pass\n", "UnicodeEncodeError"),
        ("def other(): pass\n", "NameError: the source defines no function called tool"),
        ("tool = 3\n", "NameError: the source defines no function called tool"),
        ("import nothing_of_this_name\n", "ModuleNotFoundError"),
    ],
)
def test_a_source_that_cannot_be_run_is_an_error(runner: ToolRunner, source: str, error: str) -> None:
    assert str(runner.run(job(source)).error).startswith(f"Error executing function tool: {error}")


def test_what_is_printed_is_kept_apart_from_the_return_also_by_other_processes(runner: ToolRunner) -> None:
    source = """
    import subprocess, sys
    def tool():
        print("from the tool ä")
        print("a warning", file=sys.stderr)
        subprocess.run([sys.executable, "-c", "print('from its child')"], check=True)
        return "returned"
    """
    outcome = runner.run(job(source))
    assert (outcome.value, outcome.stdout, outcome.stderr) == (
        "returned",
        ("from the tool ä\nfrom its child\n",),
        ("a warning\n",),
    )


def test_what_was_printed_before_a_failure_comes_before_its_traceback(runner: ToolRunner) -> None:
    outcome = runner.run(job("import sys\ndef tool():\n    print('said', file=sys.stderr, end='')\n    1 / 0\n"))
    assert outcome.stderr[0] == "said"
    assert outcome.stderr[1].startswith("Traceback")


def test_calls_at_the_same_time_do_not_meet(runner: ToolRunner) -> None:
    source = "def tool(n):\n    print(n)\n    return n\n"
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda n: runner.run(job(source, args={"n": n})), range(16)))
    assert [(outcome.value, outcome.stdout) for outcome in outcomes] == [(n, (f"{n}\n",)) for n in range(16)]


STATE = {
    "id": "agent-1",
    "name": "Ada",
    "memory": {"blocks": [{"label": "human", "value": "Bob", "limit": 100}, {"label": "persona", "value": "Kind", "limit": 100}]},
}


def test_a_tool_reads_its_agents_state_and_edits_its_blocks(runner: ToolRunner) -> None:
    source = """
    def tool(agent_state):
        memory = agent_state.memory
        human = memory.get_block("human")
        memory.update_block_value(label="human", value=human.value + " and " + agent_state["name"])
        memory.get_block("persona").value = "Kind"
        return [agent_state.name, human.limit, memory.list_block_labels()]
    """
    outcome = runner.run(job(source, agent_state=STATE))
    assert outcome.value == ["Ada", 100, ["human", "persona"]], outcome.error
    assert outcome.blocks == {"human": "Bob and Ada"}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("agent_state.memory.update_block_value('human', 'lost'); 1 / 0", "ZeroDivisionError"),
        ("agent_state.memory.get_block('human').value = 5", "TypeError: block 'human' holds a string, not int"),
        ("agent_state.memory.update_block_value('human', 5)", "TypeError: a block holds a string, not int"),
        ("agent_state.memory.get_block('nobody')", "KeyError: \"the agent has no block 'nobody', but: human, persona\""),
        ("agent_state.absent", "AttributeError: agent_state has no 'absent' here: id, name, memory"),
    ],
)
def test_a_failed_tool_edits_nothing(runner: ToolRunner, body: str, error: str) -> None:
    outcome = runner.run(job(f"def tool(agent_state):\n    {body}\n", agent_state=STATE))
    assert str(outcome.error).startswith(f"Error executing function tool: {error}")
    assert outcome.blocks == {}


def test_without_an_agent_its_state_is_none(runner: ToolRunner) -> None:
    outcome = runner.run(job("def tool(agent_state, agent_id): return [agent_state, agent_id, client]"))
    assert outcome.value == [None, None, None]


def test_a_tool_that_uses_a_client_which_it_has_not_is_told_when_it_has_one(runner: ToolRunner) -> None:
    outcome = runner.run(job("def tool(): return client.agents.list()"))
    began = "Error executing function tool: AttributeError: 'NoneType' object has no attribute 'agents' (`client` is None in this call"
    assert str(outcome.error).startswith(began)
    assert "toolNetwork=open" in str(outcome.error)


def test_an_absent_client_is_named_only_where_it_may_be_the_reason(runner: ToolRunner) -> None:
    outcome = runner.run(job("def tool(): return 'client'.agents"))
    assert outcome.error == "Error executing function tool: AttributeError: 'str' object has no attribute 'agents'"


ARGUMENTS: JsonObject = {
    "type": "object",
    "title": "PlanArguments",
    "$defs": {
        "Task": {
            "type": "object",
            "title": "Task",
            "properties": {"name": {"type": "string"}, "hours": {"type": "integer"}, "after": {"type": "string"}},
            "required": ["name", "hours"],
        }
    },
    "properties": {"tasks": {"type": "array", "items": {"$ref": "#/$defs/Task"}}, "limit": {"type": "integer"}},
    "required": ["tasks"],
}
PLAN = """
def tool(tasks: list[Task], limit: int = 3):
    return [type(tasks[0]).__name__, isinstance(tasks[0], Task), tasks[0].hours + tasks[1].hours, tasks[1].after, limit]
"""


def test_a_schema_of_the_arguments_makes_objects_of_them(runner: ToolRunner) -> None:
    tasks: list[Json] = [{"name": "a", "hours": 2}, {"name": "b", "hours": "3"}]
    outcome = runner.run(job(PLAN, args={"tasks": tasks}, args_json_schema=ARGUMENTS))
    assert (outcome.error, outcome.value) == (None, ["Task", True, 5, None, 3])


def test_arguments_that_do_not_fit_their_schema_are_an_error_that_names_the_field(runner: ToolRunner) -> None:
    outcome = runner.run(job(PLAN, args={"tasks": [{"name": "a"}]}, args_json_schema=ARGUMENTS))
    assert "hours" in str(outcome.error)


def test_a_part_of_a_schema_that_contains_itself_stays_json(runner: ToolRunner) -> None:
    tree: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}, "below": {"$ref": "#/$defs/Tree"}}}
    schema: JsonObject = {"type": "object", "$defs": {"Tree": tree}, "properties": {"tree": {"$ref": "#/$defs/Tree"}}}
    args: Json = {"tree": {"name": "a", "below": {"name": "b"}}}
    outcome = runner.run(job("def tool(tree): return [tree.name, tree.below]\n", args=args, args_json_schema=schema))
    assert outcome.value == ["a", {"name": "b"}]
