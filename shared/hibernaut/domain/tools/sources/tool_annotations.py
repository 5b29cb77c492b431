"""Converts Python annotations to JSON schema by reading the syntax tree; the source is never executed.

Knows the usual forms of `typing` and Pydantic models in the same source (RT 10.2, the table). Any other annotation
is refused with its line, so that no stored schema is weaker than the signature. Each class is read once and the output is
measured, because models that refer to one another grow exponentially when written inline.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping

from hibernaut.domain.combining_marks import MOST_MARKS, has_long_run
from hibernaut.domain.tools.step_budget import BudgetSpent, StepBudget
from hibernaut.domain.tools.tool_returns import storable
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidToolSource
from hibernaut.schemas.json_schema import DEEPEST_SCHEMA, LARGEST_SCHEMA

_SCALARS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "Dict": "object"}
_LISTS = frozenset({"list", "List", "Sequence", "Iterable"})
_TUPLES = frozenset({"tuple", "Tuple"})
_MODEL = "BaseModel"
_LITERALS: dict[type, str] = {str: "string", int: "integer", bool: "boolean"}
_LARGEST_INTEGER = 2**63 - 1
_LONGEST_SHOWN = 200
"""The number of characters of an annotation that an error quotes."""

Models = Mapping[str, ast.ClassDef]


def parsed(source: str, mode: str = "exec") -> ast.AST:
    """The syntax tree. Raises: InvalidToolSource for any unusable source."""
    if has_long_run(source):  # Python normalizes names
        raise InvalidToolSource(f"The tool's source has more than {MOST_MARKS} combining marks on one character")
    try:
        return ast.parse(source, mode=mode)
    except SyntaxError as error:
        raise InvalidToolSource(f"The tool's source is not valid Python: {error.msg}", error.lineno, error.offset) from error
    except ValueError as error:  # a null byte or a lone surrogate
        raise InvalidToolSource(f"The tool's source cannot be read as Python: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise InvalidToolSource("The tool's source cannot be read as Python: it is nested too deeply") from error


def models_of(tree: ast.Module) -> dict[str, ast.ClassDef]:
    """The Pydantic models at the top level of the source, by name."""
    models: dict[str, ast.ClassDef] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any(_name(base) == _MODEL or _name(base) in models for base in node.bases):
            models[node.name] = node
    return models


def is_optional(annotation: ast.expr) -> bool:
    """Whether the annotation allows None."""
    annotation = _unwrapped(annotation)
    return any(_is_none(member) for member in _members(annotation))


class AnnotationReader:
    """The schemas for the annotations of one tool. `budget` counts the characters of the output."""

    def __init__(self, models: Models, budget: StepBudget | None = None) -> None:
        self._models = models
        self._known: dict[str, tuple[JsonObject, int]] = {}
        """The models converted so far, each with its size in characters."""
        self.budget = budget or StepBudget(LARGEST_SCHEMA)
        self._bases = StepBudget(LARGEST_SCHEMA)
        """The base classes that are looked at; each heir of a class looks at its bases again."""

    def schema_of(self, annotation: ast.expr, enclosing: tuple[str, ...] = ()) -> JsonObject:
        """The JSON schema for values of this annotation; for an optional value, the schema of the value itself.

        `enclosing` names the enclosing models. Raises: InvalidToolSource with the line.
        """
        annotation = _unwrapped(annotation)
        members = [member for member in _members(annotation) if not _is_none(member)]
        if len(members) > 1:
            raise _refused(annotation, "only a union with None can be described: choose one type")
        if not members:
            raise _refused(annotation, "None alone is no type for a parameter")
        if members[0] is not annotation:
            return self.schema_of(members[0], enclosing)
        if isinstance(annotation, ast.Subscript):
            return self._generic(annotation, enclosing)
        return self._plain(annotation, enclosing)

    def write(self, text: str, line: int) -> None:
        """Count a text that becomes part of the schema. Raises: InvalidToolSource if the schema becomes too large."""
        self._spend(len(text), line)

    def _plain(self, annotation: ast.expr, enclosing: tuple[str, ...]) -> JsonObject:
        name = _name(annotation)
        if name in _SCALARS:
            return self._charged({"type": _SCALARS[name]}, annotation)
        if name in _LISTS:
            return self._charged({"type": "array", "items": {"type": "string"}}, annotation)
        if name in self._models:
            return self._model(self._models[name], enclosing)
        hint = "a Pydantic model must be defined in the source itself" if name else "it is not a type"
        raise _refused(annotation, hint)

    def _generic(self, annotation: ast.Subscript, enclosing: tuple[str, ...]) -> JsonObject:
        name = _name(annotation.value)
        arguments = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        if name in _LISTS:
            if len(arguments) != 1:
                raise _refused(annotation, "a list has one type of items")
            frame = self._charged({"type": "array", "items": None}, annotation)
            return frame | {"items": self.schema_of(arguments[0], enclosing)}
        if name == "Literal":
            return self._charged(_literal(annotation, arguments), annotation)
        if name in _TUPLES:
            if not arguments or any(isinstance(argument, ast.Constant) and argument.value is ... for argument in arguments):
                raise _refused(annotation, "a tuple needs a fixed length: use a list")
            size = len(arguments)
            frame = self._charged({"type": "array", "prefixItems": [], "minItems": size, "maxItems": size}, annotation)
            return frame | {"prefixItems": [self.schema_of(argument, enclosing) for argument in arguments]}
        if name in {"dict", "Dict"}:
            raise _refused(annotation, "use a bare dict, or a Pydantic model that names its fields")
        raise _refused(annotation, "this generic type is not known")

    def _model(self, model: ast.ClassDef, enclosing: tuple[str, ...]) -> JsonObject:
        if model.name in enclosing:
            raise InvalidToolSource(f"The model {model.name} contains itself, which cannot be written inline", model.lineno)
        if len(enclosing) >= DEEPEST_SCHEMA:
            raise InvalidToolSource(f"The models around {model.name} are nested too deeply to be written inline", model.lineno)
        if cached := self._known.get(model.name):
            self._spend(cached[1], model.lineno)
            return cached[0]
        before = self.budget.spent
        properties: JsonObject = {}
        required: list[str] = []
        for name, field in self._fields(model).items():
            description, has_default = _described(field)
            if not description:
                raise InvalidToolSource(f"Field {name} of {model.name} needs Field(description=...)", field.lineno)
            self.write(name + description, field.lineno)
            properties[name] = self.schema_of(field.annotation, (*enclosing, model.name)) | {"description": description}
            if not has_default and not is_optional(field.annotation):
                required.append(name)
        frame = self._charged({"type": "object", "properties": None, "required": required}, model)
        schema = frame | {"properties": properties}
        self._known[model.name] = schema, self.budget.spent - before
        return schema

    def _fields(self, model: ast.ClassDef) -> dict[str, ast.AnnAssign]:
        """The model's annotated fields by name, inherited fields first; without private fields, ClassVar and `model_config`."""
        fields: dict[str, ast.AnnAssign] = {}
        for heir in _lineage(model, self._models):
            self._spend(1 + len(heir.body), model.lineno)
            self._spend(len(heir.bases), model.lineno, self._bases)
            for node in heir.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
                    kind = node.annotation.value if isinstance(node.annotation, ast.Subscript) else node.annotation
                    if _name(kind) != "ClassVar" and node.target.id != "model_config":
                        fields[node.target.id] = node
        return fields

    def _charged(self, schema: JsonObject, node: ast.expr | ast.ClassDef) -> JsonObject:
        self._spend(len(json.dumps(schema)), node.lineno)
        return schema

    def _spend(self, steps: int, line: int, budget: StepBudget | None = None) -> None:
        try:
            (budget or self.budget).spend(steps)
        except BudgetSpent:
            raise InvalidToolSource(
                f"The tool's types are too large to be written inline: a schema has at most {LARGEST_SCHEMA} characters", line
            ) from None


def _literal(annotation: ast.expr, arguments: list[ast.expr]) -> JsonObject:
    values = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
    kinds = {type(value) for value in values}
    kind = _LITERALS.get(kinds.pop()) if len(kinds) == 1 else None
    if kind is None or len(values) != len(arguments):
        raise _refused(annotation, "a Literal holds strings, or integers, or booleans")
    if any(isinstance(value, str) and value != storable(value) for value in values):
        raise _refused(annotation, "a text of a Literal must not hold half of a surrogate pair")
    if kind == "integer" and any(isinstance(value, int) and abs(value) > _LARGEST_INTEGER for value in values):
        raise _refused(annotation, "an integer of a Literal has at most 64 bits")
    return {"type": kind, "enum": values}


def _lineage(model: ast.ClassDef, models: Models) -> Iterator[ast.ClassDef]:
    """The model and all its base classes, each once; base classes come first."""
    names: set[str] = set()
    pending: list[tuple[ast.ClassDef, bool]] = [(model, False)]
    while pending:
        heir, parents_done = pending.pop()
        if parents_done:
            yield heir
        elif heir.name not in names:
            names.add(heir.name)
            pending.append((heir, True))
            parents = (models.get(_name(base)) for base in reversed(heir.bases))
            pending += [(parent, False) for parent in parents if parent is not None]


def _described(field: ast.AnnAssign) -> tuple[str, bool]:
    """(description, has a default) of a field; `Field` may be its value or be inside Annotated."""
    description, has_default = "", field.value is not None
    for call in (field.value, *_metadata(field.annotation)):
        if not isinstance(call, ast.Call) or _name(call.func) != "Field":
            continue
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        description = _text(keywords.get("description")) or description
        first = call.args[0] if call.args else keywords.get("default")
        has_default_argument = (
            first is not None and not (isinstance(first, ast.Constant) and first.value is ...)
        ) or "default_factory" in keywords
        has_default = has_default_argument if call is field.value else has_default or has_default_argument
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
    return storable(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _unwrapped(annotation: ast.expr) -> ast.expr:
    """The annotation without quotes and without Annotated."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            tree = parsed(annotation.value.strip(), mode="eval")
        except InvalidToolSource as error:
            raise _refused(annotation, "it is not a type") from error
        assert isinstance(tree, ast.Expression)  # noqa: S101 -- what the mode gives
        quoted = tree.body
        for node in ast.walk(quoted):
            ast.copy_location(node, annotation)
        return _unwrapped(quoted)
    if _metadata(annotation):
        assert isinstance(annotation, ast.Subscript)  # noqa: S101 -- only a subscript has metadata
        assert isinstance(annotation.slice, ast.Tuple)  # noqa: S101
        return _unwrapped(annotation.slice.elts[0])
    return annotation


def _members(annotation: ast.expr) -> list[ast.expr]:
    """The members of a union, flattened; for any other annotation, the annotation itself. An Optional has the member None."""
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
    """The last part of a dotted name, so that `typing.List` counts as `List`; "" for other nodes."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _refused(annotation: ast.expr, hint: str) -> InvalidToolSource:
    try:
        text = ast.unparse(annotation)
    except (ValueError, RecursionError):
        text = "here"  # an f-string, or a number, without a short text
    if len(text) > _LONGEST_SHOWN:
        text = f"{text[:_LONGEST_SHOWN]}…"
    return InvalidToolSource(f"The annotation {text} cannot be described to a model: {hint}", annotation.lineno)
