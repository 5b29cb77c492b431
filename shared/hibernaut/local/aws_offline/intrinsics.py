"""CloudFormation's intrinsic functions (`Ref`, `Fn::GetAtt`, `Fn::Join`, ...), as far as the CDK uses them.

Knows: how a value is composed. Must not know: what a resource is; callbacks provide references and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hibernaut.schemas.base import Json, JsonObject

NO_VALUE = "AWS::NoValue"
_MARK = re.compile(r"\$\{([^}!]+)\}")


class UnknownFunction(Exception):
    """The template uses an intrinsic function that is not implemented here."""


class Intrinsics:
    """Resolves intrinsic functions. `reference` resolves Ref, `attribute` resolves Fn::GetAtt."""

    def __init__(self, reference: Callable[[str], str], attribute: Callable[[str, str], str]) -> None:
        self._reference = reference
        self._attribute = attribute

    def resolve(self, value: Json) -> Json:
        """The value without intrinsic functions. Raises: UnknownFunction."""
        match value:
            case list():
                return [self.resolve(item) for item in value if item != {"Ref": NO_VALUE}]
            case dict() if _is_call(value):
                ((name, argument),) = value.items()
                return self._call(name, argument)
            case dict():
                return {key: self.resolve(item) for key, item in value.items() if item != {"Ref": NO_VALUE}}
            case _:
                return value

    def _call(self, name: str, argument: Json) -> Json:
        match name:
            case "Ref":
                return self._reference(argument)
            case "Fn::GetAtt":
                resource, attribute = argument if isinstance(argument, list) else argument.split(".", 1)
                return self._attribute(resource, attribute)
            case "Fn::Join":
                return argument[0].join(str(part) for part in self.resolve(argument[1]))
            case "Fn::Select":
                return self.resolve(argument[1])[int(argument[0])]
            case "Fn::Split":
                return self.resolve(argument[1]).split(argument[0])
            case "Fn::Sub":
                return self._substituted(argument)
            case _:
                raise UnknownFunction(name)

    def _substituted(self, argument: Json) -> str:
        text, variables = (argument, {}) if isinstance(argument, str) else (argument[0], self.resolve(argument[1]))

        def put(mark: re.Match[str]) -> str:
            name = mark[1]
            if name in variables:
                return str(variables[name])
            return str(self._call("Fn::GetAtt", name) if "." in name else self._reference(name))

        return _MARK.sub(put, text)


def _is_call(value: JsonObject) -> bool:
    return len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::"))
