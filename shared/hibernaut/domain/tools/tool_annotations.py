"""Python annotations as JSON schema, read from the syntax tree; nothing of the source is ever executed.

Knows typing's usual forms and Pydantic models that stand in the source (run-time digest 10.2, the table). What it cannot
read it refuses with the line, so that no tool is stored whose schema says less than its signature.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidToolSource

_SCALARS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "Dict": "object"}
_LISTS = frozenset({"list", "List", "Sequence", "Iterable"})
_TUPLES = frozenset({"tuple", "Tuple"})
_MODEL = "BaseModel"
_LITERALS: dict[type, str] = {str: "string", int: "integer", bool: "boolean"}

LARGEST_SCHEMA = 100_000
"""Characters of JSON that a tool's nested types may take: a model could not read more."""

Models = Mapping[str, ast.ClassDef]


def models_of(tree: ast.Module) -> dict[str, ast.ClassDef]:
    """The Pydantic models that the source defines at its top level, by name."""
    models: dict[str, ast.ClassDef] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any(_name(base) == _MODEL or _name(base) in models for base in node.bases):
            models[node.name] = node
    return models


def is_optional(annotation: ast.expr) -> bool:
    """Whether None is among what the annotation allows."""
    annotation = _unwrapped(annotation)
    return any(_is_none(member) for member in _members(annotation))


def schema_of(annotation: ast.expr, models: Models, inside: tuple[str, ...] = ()) -> JsonObject:
    """The JSON schema of a value so annotated; of an optional one, the schema of what it holds.

    `inside` names the models around it. Raises: InvalidToolSource with the line.
    """
    annotation = _unwrapped(annotation)
    members = [member for member in _members(annotation) if not _is_none(member)]
    if len(members) > 1:
        raise _refused(annotation, "only a union with None can be described: choose one type")
    if not members:
        raise _refused(annotation, "None alone is no type for a parameter")
    if members[0] is not annotation:
        return schema_of(members[0], models, inside)
    if isinstance(annotation, ast.Subscript):
        return _generic(annotation, models, inside)
    return _plain(annotation, models, inside)


def _plain(annotation: ast.expr, models: Models, inside: tuple[str, ...]) -> JsonObject:
    name = _name(annotation)
    if name in _SCALARS:
        return {"type": _SCALARS[name]}
    if name in _LISTS:
        return {"type": "array", "items": {"type": "string"}}
    if name in models:
        return _model(models[name], models, inside)
    hint = "a Pydantic model must be defined in the source itself" if name else "it is not a type"
    raise _refused(annotation, hint)


def _generic(annotation: ast.Subscript, models: Models, inside: tuple[str, ...]) -> JsonObject:
    name = _name(annotation.value)
    arguments = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    if name in _LISTS:
        return {"type": "array", "items": schema_of(arguments[0], models, inside)}
    if name == "Literal":
        return _literal(annotation, arguments)
    if name in _TUPLES:
        if any(isinstance(argument, ast.Constant) and argument.value is ... for argument in arguments):
            raise _refused(annotation, "a tuple needs a fixed length: use a list")
        items = [schema_of(argument, models, inside) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if name in {"dict", "Dict"}:
        raise _refused(annotation, "use a bare dict, or a Pydantic model that names its fields")
    raise _refused(annotation, "this generic type is not known")


def _literal(annotation: ast.expr, arguments: list[ast.expr]) -> JsonObject:
    values = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
    kinds = {type(value) for value in values}
    kind = _LITERALS.get(kinds.pop()) if len(kinds) == 1 else None
    if kind is None or len(values) != len(arguments):
        raise _refused(annotation, "a Literal holds strings, or integers, or booleans")
    return {"type": kind, "enum": values}


def _model(model: ast.ClassDef, models: Models, inside: tuple[str, ...]) -> JsonObject:
    if model.name in inside:
        raise InvalidToolSource(f"The model {model.name} contains itself, which cannot be written inline", model.lineno)
    properties: JsonObject = {}
    required: list[str] = []
    for field in _fields(model, models):
        assert isinstance(field.target, ast.Name)  # noqa: S101 -- _fields yields nothing else
        name = field.target.id
        description, has_default = _described(field)
        if not description:
            raise InvalidToolSource(f"Field {name} of {model.name} needs Field(description=...)", field.lineno)
        properties[name] = schema_of(field.annotation, models, (*inside, model.name)) | {"description": description}
        required = [other for other in required if other != name]
        if not has_default and not is_optional(field.annotation):
            required.append(name)
    schema = {"type": "object", "properties": properties, "required": required}
    # Models that use one another grow without bound when written inline: twenty short classes can make gigabytes.
    if len(json.dumps(schema)) > LARGEST_SCHEMA:
        raise InvalidToolSource(f"The model {model.name} is too large to be written inline", model.lineno)
    return schema


def _fields(model: ast.ClassDef, models: Models, heirs: tuple[str, ...] = ()) -> Iterator[ast.AnnAssign]:
    """The model's annotated fields, its parents' first; not the private ones, nor ClassVar, nor its configuration."""
    for base in model.bases:
        if (parent := models.get(_name(base))) and parent.name not in heirs:
            yield from _fields(parent, models, (*heirs, model.name))
    for node in model.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            kind = node.annotation.value if isinstance(node.annotation, ast.Subscript) else node.annotation
            if _name(kind) != "ClassVar" and node.target.id != "model_config":
                yield node


def _described(field: ast.AnnAssign) -> tuple[str, bool]:
    """A field's description and whether it has a default; `Field` may stand as its value or in its Annotated."""
    description, has_default = "", field.value is not None
    for call in (field.value, *_metadata(field.annotation)):
        if not isinstance(call, ast.Call) or _name(call.func) != "Field":
            continue
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        description = _text(keywords.get("description")) or description
        first = call.args[0] if call.args else keywords.get("default")
        given = (
            first is not None and not (isinstance(first, ast.Constant) and first.value is ...)
        ) or "default_factory" in keywords
        has_default = given if call is field.value else has_default or given
    return description, has_default


def _metadata(annotation: ast.expr) -> list[ast.expr]:
    if (
        isinstance(annotation, ast.Subscript)
        and _name(annotation.value) == "Annotated"
        and isinstance(annotation.slice, ast.Tuple)
    ):
        return annotation.slice.elts[1:]
    return []


def _text(node: ast.expr | None) -> str:
    try:
        value: Json = ast.literal_eval(node) if node is not None else ""
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _unwrapped(annotation: ast.expr) -> ast.expr:
    """Without quotes and without Annotated."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            quoted = ast.parse(annotation.value.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise _refused(annotation, "it is not a type") from error
        for node in ast.walk(quoted):
            ast.copy_location(node, annotation)
        return _unwrapped(quoted)
    if _metadata(annotation):
        assert isinstance(annotation, ast.Subscript)  # noqa: S101 -- only a subscript has metadata
        assert isinstance(annotation.slice, ast.Tuple)  # noqa: S101
        return _unwrapped(annotation.slice.elts[0])
    return annotation


def _members(annotation: ast.expr) -> list[ast.expr]:
    """What a union is a union of, flat; of anything else, itself. An Optional has None among its members."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return [*_members(_unwrapped(annotation.left)), *_members(_unwrapped(annotation.right))]
    if isinstance(annotation, ast.Subscript) and _name(annotation.value) in {"Optional", "Union"}:
        parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        none = [ast.copy_location(ast.Constant(None), annotation)] if _name(annotation.value) == "Optional" else []
        return [member for part in parts for member in _members(_unwrapped(part))] + list(none)
    return [annotation]


def _is_none(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Constant) and annotation.value is None


def _name(node: ast.expr) -> str:
    """The last part of a dotted name, so that `typing.List` reads as `List`; "" for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _refused(annotation: ast.expr, hint: str) -> InvalidToolSource:
    return InvalidToolSource(
        f"The annotation {ast.unparse(annotation)} cannot be described to a model: {hint}", annotation.lineno
    )
