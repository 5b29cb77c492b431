"""The programs that run code which a model wrote, for the tool runner, and the return of such a run (RT 5.7).
Pure.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from hibernaut.schemas.base import Json, JsonObject

Language = Literal["python", "js", "ts"]
LANGUAGES: dict[str, Language] = {"python": "python", "js": "js", "ts": "ts", "javascript": "js", "typescript": "ts"}
"""The languages that are run, by the names that models use."""
FUNCTION = "run_code"
"""The function of each program."""

PYTHON = """\
def run_code(code, sources):
    import ast
    import sys
    import traceback

    namespace = {"__name__": "__main__"}
    for source in sources:
        try:
            exec(compile(source, "<tool>", "exec"), namespace)
        except Exception as error:
            print(f"a tool of the agent was not loaded: {type(error).__name__}: {error}", file=sys.stderr)
    results, failure = [], None
    try:
        tree = ast.parse(code, "<code>")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<code>", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<code>", "eval"), namespace)
            if value is not None:
                results.append(repr(value))
    except MemoryError:
        raise
    except BaseException as error:
        own_traceback = error.__traceback__
        while own_traceback is not None and own_traceback.tb_frame.f_code.co_filename != "<code>":
            own_traceback = own_traceback.tb_next
        lines = traceback.format_exception(type(error), error, own_traceback)
        failure = {"name": type(error).__name__, "value": str(error), "traceback": "".join(lines)}
    return {"results": results, "error": failure}
"""
"""Runs a program as a notebook does: the value of a last expression is its result. `sources`: those of the agent's tools, whose
functions it may call."""

JAVASCRIPT = """\
const vm = require("node:vm");
const util = require("node:util");
const FILE = "<code>";
const options = { filename: FILE, importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER };

function compiled(script: string): any {
  return new vm.Script(script, options);
}

// A program that waits at its top becomes the body of an async function, whose return is the longest last expression that begins a line.
function waiting(script: string): any {
  const lines = script.replace(/[;\\s]+$/, "").split("\\n");
  for (let first = lines.length - 1; first >= 0 && lines.length - first <= 200; first--) {
    const body = lines.slice(0, first).join("\\n");
    try {
      return compiled(`(async () => {${body}\\nreturn (\\n${lines.slice(first).join("\\n")}\\n)})()`);
    } catch {
      continue;
    }
  }
  return compiled(`(async () => {${script}\\n})()`);
}

function prepared(script: string): any {
  try {
    return compiled(script);
  } catch (failure) {
    if (!/\\bawait\\b/.test(script)) throw failure;
    return waiting(script);
  }
}

function described(failure: any): object {
  const lines = String(failure?.stack ?? "").split("\\n");
  const last = lines.findLastIndex((line) => line.includes(FILE));
  const traceback = (last < 0 ? lines.slice(0, 1) : lines.slice(0, last + 1)).join("\\n");
  return { name: failure?.name ?? "Error", value: String(failure?.message ?? failure), traceback };
}

async function run_code(code: string, typed: boolean): Promise<unknown> {
  const results: string[] = [];
  let error: unknown = null;
  try {
    const transpiled = (globalThis as any)[Symbol.for("hibernaut.transpiled")];
    const script = prepared(transpiled(code, typed).replace(/^"use strict";/, ""));
    Object.assign(globalThis, { require, exports: {}, module: { exports: {} } });
    const value = await script.runInThisContext();
    if (value !== undefined) results.push(typeof value === "string" ? value : util.inspect(value));
  } catch (failure) {
    error = described(failure);
  }
  return { results, error };
}
"""
"""The same for JavaScript and TypeScript: `import` and `await` at the top are allowed. A file of its own would have to be read at
each call.
"""
SCHEMA: JsonObject = {
    "name": FUNCTION,
    "parameters": {
        "type": "object",
        "properties": {"code": {"type": "string"}, "typed": {"type": "boolean"}},
        "required": ["code", "typed"],
    },
}
"""The schema of the program in JavaScript, whose arguments are passed in their order."""


def code_return(results: Sequence[Json], stdout: Sequence[str], stderr: Sequence[str], error: Json = None) -> str:
    """The return of a run, in V1's form: JSON with `results`, `logs`, and `error` if there was one."""
    body: JsonObject = {"results": list(results), "logs": {"stdout": list(stdout), "stderr": list(stderr)}}
    return json.dumps(body if error is None else {**body, "error": error}, ensure_ascii=False)
