"""A tool's JSON schema, read from its Python source by the syntax tree; the source is never executed.

Knows signatures and their docstrings (run-time digest 10.2). It must not know tools' records nor how a tool is run.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from hibernaut.domain.tools import google_docstring
from hibernaut.domain.tools.tool_annotations import LARGEST_SCHEMA, Models, is_optional, models_of, schema_of
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument, InvalidToolSource
from hibernaut.schemas.tool import MAX_NAME

RESERVED = frozenset({"self", "agent_state", "agent_id"})
"""Parameters that the server fills in; a model never sees them."""
_DEEPEST_REFERENCE = 32

Function = ast.FunctionDef | ast.AsyncFunctionDef


def function_name(source: str) -> str:
    """The name of the source's last top-level function. Raises: InvalidToolSource."""
    return _function(_parsed(source), None).name


def derive_schema(source_code: str, name: str | None = None) -> JsonObject:
    """`{name, description, parameters}` of the function called `name`, else of the last one in the source.

    Raises: InvalidToolSource with the line; InvalidArgument for a name of more than 48 characters.
    """
    tree = _parsed(source_code)
    function = _function(tree, name)
    docstring = ast.get_docstring(function)
    if not docstring:
        raise InvalidToolSource(f"Function {function.name} needs a docstring that says what it does", function.lineno)
    read = google_docstring.read(docstring)
    if not read.description:
        raise InvalidToolSource(f"The docstring of {function.name} does not say what the function does", function.lineno)
    try:
        parameters = _parameters(function, models_of(tree), read.parameters)
    except RecursionError as error:
        raise InvalidToolSource(f"The annotations of {function.name} are nested too deeply", function.lineno) from error
    return {"name": function.name, "description": read.description, "parameters": parameters}


def schema_from_args(source: str, args_json_schema: JsonObject) -> JsonObject:
    """The schema of the source's last function with parameters as the caller describes them, references written out.

    Raises: InvalidToolSource; InvalidArgument for an args schema that is not an object's.
    """
    function = _function(_parsed(source), None)
    properties = args_json_schema.get("properties", {})
    required = args_json_schema.get("required", [])
    if args_json_schema.get("type", "object") != "object" or not isinstance(properties, dict) or not isinstance(required, list):
        raise InvalidArgument("args_json_schema must describe an object: its properties and which of them are required")
    inlined = {name: _inlined(schema, args_json_schema) for name, schema in properties.items()}
    return {
        "name": function.name,
        "description": ast.get_docstring(function) or f"The {function.name} tool",
        "parameters": {"type": "object", "properties": inlined, "required": list(required)},
    }


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise InvalidToolSource(f"The tool's source is not valid Python: {error.msg}", error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        # A null byte, a lone surrogate, or brackets nested beyond what the parser takes.
        raise InvalidToolSource(f"The tool's source cannot be read as Python: {error}") from error


def _function(tree: ast.Module, name: str | None) -> Function:
    functions = [node for node in tree.body if isinstance(node, Function) and name in {None, node.name}]
    if not functions:
        raise InvalidToolSource(
            f"The tool's source defines no function called {name}" if name else "The tool's source defines no function"
        )
    if len(functions[-1].name) > MAX_NAME:
        raise InvalidArgument(f"A tool's name has at most {MAX_NAME} characters: {functions[-1].name}")
    return functions[-1]


def _parameters(function: Function, models: Models, texts: dict[str, str]) -> JsonObject:
    properties: JsonObject = {}
    required = []
    for parameter, has_default in _signature(function):
        name = parameter.arg
        if parameter.annotation is None:
            raise InvalidToolSource(f"Parameter {name} of {function.name} needs a type annotation", parameter.lineno)
        if not texts.get(name):
            raise InvalidToolSource(
                f"Parameter {name} of {function.name} is not described in its docstring's Args", parameter.lineno
            )
        properties[name] = schema_of(parameter.annotation, models) | {"description": texts[name]}
        if not has_default and not is_optional(parameter.annotation):
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _signature(function: Function) -> Iterator[tuple[ast.arg, bool]]:
    """The parameters that a model fills in, each with whether it has a default."""
    arguments = function.args
    for variadic in (arguments.vararg, arguments.kwarg):
        if variadic is not None:
            raise InvalidToolSource(
                f"*{variadic.arg} of {function.name} cannot be described to a model: name it", variadic.lineno
            )
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    for index, parameter in enumerate(positional):
        if parameter.arg not in RESERVED:
            yield parameter, index >= first_default
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if parameter.arg not in RESERVED:
            yield parameter, default is not None


def _inlined(schema: Json, root: JsonObject, depth: int = 0) -> Json:
    """The schema without local references. Raises: InvalidArgument for one that is unknown or contains itself."""
    if depth > _DEEPEST_REFERENCE:
        raise InvalidArgument("args_json_schema contains itself, or is nested too deeply, to be written inline")
    match schema:
        case {"$ref": str(reference), **others}:
            target: Json = root
            for part in reference.removeprefix("#/").split("/"):
                target = target.get(part) if isinstance(target, dict) else None
            if not isinstance(target, dict):
                raise InvalidArgument(f"args_json_schema refers to {reference}, which it does not define")
            found = _inlined(target | others, root, depth + 1)
            if len(json.dumps(found)) > LARGEST_SCHEMA:
                raise InvalidArgument(f"args_json_schema is too large to be written inline at {reference}")
            return found
        case dict():
            return {key: _inlined(value, root, depth + 1) for key, value in schema.items()}
        case list():
            return [_inlined(value, root, depth + 1) for value in schema]
        case _:
            return schema
