"""Derives a tool's JSON schema from its Python source by reading the syntax tree; the source is never executed.

Knows signatures and their docstrings (RT 10.2). Must not know: the records of tools, or how a tool runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hibernaut.domain.tools.sources import google_docstring
from hibernaut.domain.tools.sources.google_docstring import Docstring
from hibernaut.domain.tools.sources.tool_annotations import AnnotationReader, is_optional, models_of, parsed
from hibernaut.domain.tools.step_budget import BudgetSpent, StepBudget
from hibernaut.domain.tools.tool_returns import storable
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument, InvalidToolSource
from hibernaut.schemas.json_schema import LARGEST_SCHEMA, problem_of, size_problem_of, target
from hibernaut.schemas.tools.tool import MAX_NAME

RESERVED = frozenset({"self", "agent_state", "agent_id"})
"""The parameters that the server fills in; the model never sees them."""
_DEEPEST = 64
"""The largest nesting depth of objects, arrays and references in an args schema."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def function_name(source: str) -> str:
    """The name of the source's last top-level function. Raises: InvalidToolSource."""
    return _function(_parsed(source), None).name


def derive_schema(source_code: str, name: str | None = None) -> JsonObject:
    """`{name, description, parameters}` of the function called `name`, or of the last function in the source.

    Raises: InvalidToolSource with the line; InvalidArgument for a name of more than 48 characters.
    """
    tree = _parsed(source_code)
    function = _function(tree, name)
    docstring = storable(_docstring(function))
    if not docstring:
        raise InvalidToolSource(f"Function {function.name} needs a docstring that says what it does", function.lineno)
    parsed = google_docstring.read(docstring)
    if not parsed.description:
        raise InvalidToolSource(f"The docstring of {function.name} does not say what the function does", function.lineno)
    try:
        parameters = _parameters(function, AnnotationReader(models_of(tree)), parsed)
    except RecursionError as error:
        raise InvalidToolSource(f"The annotations of {function.name} are nested too deeply", function.lineno) from error
    schema = {"name": function.name, "description": parsed.description, "parameters": parameters}
    if problem := problem_of(parameters) or size_problem_of(schema):
        raise InvalidToolSource(f"The schema of {function.name} cannot be offered to a model: {problem}", function.lineno)
    return schema


def schema_from_args(source: str, args_json_schema: JsonObject) -> JsonObject:
    """The schema of the last function in the source with the caller's description of its parameters, references resolved inline.

    Raises: InvalidToolSource; InvalidArgument for an args schema that does not describe an object.
    """
    function = _function(_parsed(source), None)
    return schema_with(function.name, _docstring(function), args_json_schema)


def schema_with(name: str, description: str, args_json_schema: JsonObject) -> JsonObject:
    """The schema of a function with the caller's description of its parameters. Raises: InvalidArgument if that does not describe
    an object.
    """
    if args_json_schema.get("type", "object") != "object":
        raise InvalidArgument(
            "INVALID_ARGUMENT: args_json_schema must describe an object: its properties and which of them are required"
        )
    if problem := problem_of(args_json_schema):
        raise InvalidArgument(f"INVALID_ARGUMENT: args_json_schema is not a JSON schema: {problem}")
    properties = Inliner(args_json_schema).inlined(args_json_schema.get("properties", {}))
    return {
        "name": name,
        "description": storable(description or f"The {name} tool"),
        "parameters": {"type": "object", "properties": properties, "required": list(args_json_schema.get("required", []))},
    }


def _parsed(source: str) -> ast.Module:
    tree = parsed(source)
    assert isinstance(tree, ast.Module)  # noqa: S101 -- what the mode gives
    return tree


def _function(tree: ast.Module, name: str | None) -> Function:
    functions = [node for node in tree.body if isinstance(node, Function) and name in {None, node.name}]
    if not functions:
        raise InvalidToolSource(
            f"The tool's source defines no function called {name}" if name else "The tool's source defines no function"
        )
    if len(functions[-1].name) > MAX_NAME:
        raise InvalidArgument(
            f"INVALID_ARGUMENT: A tool's name has at most {MAX_NAME} characters: {functions[-1].name[: 2 * MAX_NAME]}"
        )
    return functions[-1]


def _docstring(function: Function) -> str:
    return google_docstring.cleaned(ast.get_docstring(function, clean=False) or "")


def _parameters(function: Function, annotations: AnnotationReader, docstring: Docstring) -> JsonObject:
    properties: JsonObject = {}
    required = []
    for parameter, has_default in _signature(function):
        name = parameter.arg
        if parameter.annotation is None:
            raise InvalidToolSource(f"Parameter {name} of {function.name} needs a type annotation", parameter.lineno)
        if not docstring.parameters.get(name):
            cause = f": {docstring.problem}" if docstring.problem else ""
            raise InvalidToolSource(
                f"Parameter {name} of {function.name} is not described in its docstring's Args{cause}", parameter.lineno
            )
        properties[name] = annotations.schema_of(parameter.annotation) | {"description": docstring.parameters[name]}
        if not has_default and not is_optional(parameter.annotation):
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _signature(function: Function) -> Iterator[tuple[ast.arg, bool]]:
    """(parameter, has a default) for each parameter that the model fills in."""
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


class Inliner:
    """Resolves the references of a schema inline. `budget` counts the values and characters of the output."""

    def __init__(self, root: JsonObject, budget: StepBudget | None = None) -> None:
        self._root = root
        self.budget = budget or StepBudget(LARGEST_SCHEMA)

    def inlined(self, schema: Json) -> Json:
        """The schema without references. Raises: InvalidArgument for a recursive or too large schema."""
        try:
            return self._inlined(schema, 0)
        except BudgetSpent:
            raise InvalidArgument(
                f"INVALID_ARGUMENT: args_json_schema is too large to be written inline: a schema has at most {LARGEST_SCHEMA} characters"
            ) from None

    def _inlined(self, schema: Json, depth: int) -> Json:
        if depth > _DEEPEST:
            raise InvalidArgument(
                "INVALID_ARGUMENT: args_json_schema contains itself, or is nested too deeply, to be written inline"
            )
        match schema:
            case {"$ref": str(reference), **others} if isinstance(found := target(reference, self._root), dict):
                self.budget.spend(len(reference))
                return self._inlined(found | others, depth + 1)
            case dict():
                self.budget.spend(sum(len(key) + 4 for key in schema))
                return {key: self._inlined(value, depth + 1) for key, value in schema.items()}
            case list():
                self.budget.spend(len(schema) + 2)
                return [self._inlined(value, depth + 1) for value in schema]
            case _:
                self.budget.spend(len(schema) if isinstance(schema, str) else 4)
                return schema
