"""Looking things up in a template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hibernaut.schemas.base import JsonObject


class Template:
    def __init__(self, document: JsonObject) -> None:
        self.document = document
        self.resources: dict[str, JsonObject] = document["Resources"]

    def of_type(self, kind: str) -> dict[str, JsonObject]:
        """Logical id -> resource."""
        return {name: resource for name, resource in self.resources.items() if resource["Type"] == kind}

    def only(self, kind: str) -> JsonObject:
        (resource,) = self.of_type(kind).values()
        return resource

    def functions(self) -> dict[str, JsonObject]:
        """Folder of the function -> its properties."""
        return {
            re.split(r"[./]", resource["Properties"]["Handler"])[1]: resource["Properties"]
            for resource in self.of_type("AWS::Lambda::Function").values()
        }

    def feed_of(self, function: str) -> JsonObject:
        """The event source mapping of a function."""
        names = {
            name
            for name, resource in self.of_type("AWS::Lambda::Function").items()
            if re.split(r"[./]", resource["Properties"]["Handler"])[1] == function
        }
        (feed,) = (
            resource["Properties"]
            for resource in self.of_type("AWS::Lambda::EventSourceMapping").values()
            if resource["Properties"]["FunctionName"]["Ref"] in names
        )
        return dict(feed)

    def statements(self, role: str) -> list[JsonObject]:
        """What the role's policies say."""
        return [
            statement
            for policy in self.of_type("AWS::IAM::Policy").values()
            if {"Ref": role} in policy["Properties"]["Roles"]
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        ]

    def role_of(self, function: str) -> str:
        return str(self.functions()[function]["Role"]["Fn::GetAtt"][0])


def listed(value: Any) -> list[Any]:
    """CloudFormation writes a list of one as the one."""
    return value if isinstance(value, list) else [value]


def texts(value: Any) -> Iterator[str]:
    """All strings inside."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from texts(item)
        case dict():
            for item in value.values():
                yield from texts(item)
