"""Pydantic models from the JSON schema of a tool's arguments, for tools that expect objects where the model sent JSON (RT 10.4).

Runs in the tool's process, and imports Pydantic when a tool has such a schema. Must not know jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
_DEFINITIONS = "$defs"
_DEEPEST = 20


class ArgumentModels:
    """The models of one schema. `by_name`: the models with names in the schema, which V1 defines before the tool's own source."""

    def __init__(self, schema: dict[str, Any]) -> None:
        """A part of the schema that contains itself, or is nested too deeply, stays JSON."""
        self._definitions = schema.get(_DEFINITIONS) or schema.get("definitions") or {}
        self.by_name: dict[str, Any] = {}
        self._types: dict[str, Any] = {}
        for name, definition in self._definitions.items():
            self._named(name, definition, 0)
        self._arguments = self._model(str(schema.get("title") or "Arguments"), schema, 0)

    def values(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments, with objects and arrays converted to models and lists of models. Raises: pydantic.ValidationError."""
        declared = {name: value for name, value in arguments.items() if name in self._arguments.model_fields}
        model = self._arguments.model_validate(declared)
        objects = {name: getattr(model, name) for name, value in declared.items() if isinstance(value, dict | list)}
        return {**arguments, **objects}

    def _named(self, name: str, definition: dict[str, Any], depth: int) -> Any:
        import typing

        if name not in self._types:
            self._types[name] = typing.Any  # for the places within itself
            self._types[name] = self._type(definition, name, depth)
        return self._types[name]

    def _type(self, schema: dict[str, Any], name: str, depth: int) -> Any:
        import typing

        if depth > _DEEPEST:
            return typing.Any
        if "$ref" in schema:
            target = str(schema["$ref"]).rpartition("/")[2]
            return self._named(target, self._definitions.get(target, {}), depth + 1)
        if schema.get("enum"):
            return typing.Literal[tuple(schema["enum"])]
        kinds = schema.get("type")
        choices = (
            schema.get("anyOf")
            or schema.get("oneOf")
            or [{**schema, "type": kind} for kind in kinds or () if isinstance(kinds, list)]
        )
        if choices:
            return typing.Union[tuple(self._type(choice, name, depth + 1) for choice in choices)]  # noqa: UP007 -- made of values
        if kinds == "array":
            return list[self._type(schema.get("items") or {}, name, depth + 1)]  # type: ignore[misc]
        if kinds == "object":
            return (
                self._model(str(schema.get("title") or name), schema, depth)
                if schema.get("properties")
                else dict[str, typing.Any]
            )
        return _PLAIN.get(str(kinds), typing.Any)

    def _model(self, name: str, schema: dict[str, Any], depth: int) -> Any:
        from pydantic import ConfigDict, create_model

        required = frozenset(schema.get("required") or ())
        fields: dict[str, Any] = {}
        for field, part in (schema.get("properties") or {}).items():
            if field.startswith("_") or not field.isidentifier():
                continue  # no attribute of a model; the value is kept as an extra one
            kind = self._type(part, field.title().replace("_", ""), depth + 1)
            fields[field] = (kind, ...) if field in required else (kind | None, part.get("default"))
        model = create_model(name, __config__=ConfigDict(extra="allow", protected_namespaces=()), **fields)
        if name.isidentifier():
            self.by_name[name] = model
        return model
