"""The loaded template: every resource is created once, in the order of dependencies.

Knows: references between resources. Must not know: how a resource is created, or what the product does with it.
"""

from __future__ import annotations

from hibernaut.local.aws_offline.intrinsics import Intrinsics
from hibernaut.local.aws_offline.place import pseudo_parameters
from hibernaut.local.aws_offline.resources import Resource, make
from hibernaut.schemas.base import JsonObject


class Stack:
    """A loaded template. Loading raises UnknownResource and UnknownFunction, so that nothing is skipped silently."""

    def __init__(self, template: JsonObject, name: str) -> None:
        self._template = template
        self._name = name
        self._pseudo = pseudo_parameters(name)
        self._intrinsics = Intrinsics(self._reference, self._attribute)
        self._resources: dict[str, Resource] = {}
        for logical in template["Resources"]:
            self._resource(logical)
        self.outputs: dict[str, str] = {
            key: str(self._intrinsics.resolve(output["Value"])) for key, output in template["Outputs"].items()
        }

    def of_type(self, kind: str) -> list[Resource]:
        """All resources of a type, in the template's order."""
        return [resource for resource in self._resources.values() if resource.type == kind]

    def all(self) -> list[Resource]:
        """All resources, in the order of their creation."""
        return list(self._resources.values())

    def _resource(self, logical: str) -> Resource:
        if logical not in self._resources:
            written = self._template["Resources"][logical]
            properties = self._intrinsics.resolve(written.get("Properties", {}))
            self._resources[logical] = make(logical, written["Type"], properties, f"{self._name}-{logical}")
        return self._resources[logical]

    def _reference(self, name: str) -> str:
        return self._pseudo[name] if name in self._pseudo else self._resource(name).ref

    def _attribute(self, name: str, attribute: str) -> str:
        return self._resource(name).attributes[attribute]
