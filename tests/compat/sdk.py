"""The endpoints of the installed `letta-client`, read from its sources. Knows how its generator writes a call, nothing of our
server.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

VERBS = {"_get": "GET", "_post": "POST", "_put": "PUT", "_patch": "PATCH", "_delete": "DELETE"}


def endpoints() -> set[tuple[str, str]]:
    """(method, path with {parameters}) of every call that a synchronous resource, or the client itself, makes."""
    found: set[tuple[str, str]] = set()
    for file in [_root() / "_client.py", *sorted((_root() / "resources").rglob("*.py"))]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("Async"):
                found.update(_calls(node))
    return found


def _root() -> Path:
    spec = find_spec("letta_client")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _calls(resource: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for node in ast.walk(resource):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if ast.unparse(node.func.value) not in ("self", "self._client"):
            continue
        verb, path = node.func.attr, _template(node.args[0])
        if path is None:
            continue
        if verb == "_get_api_list":
            named = [keyword.value for keyword in node.keywords if keyword.arg == "method"]
            yield (str(ast.literal_eval(named[0])).upper() if named else "GET", path)
        elif verb in VERBS or verb in {"get", "post", "put", "patch", "delete"}:
            yield (VERBS.get(verb, verb.upper()), path)


def _template(argument: ast.expr) -> str | None:
    """The path that is written there: a text, or `path_template("…", …)`."""
    if isinstance(argument, ast.Call) and ast.unparse(argument.func) == "path_template":
        argument = argument.args[0]
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value.startswith("/v1"):
        return argument.value
    return None
