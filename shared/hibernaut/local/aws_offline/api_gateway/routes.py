"""The gateway's tree of resources: the resource that matches a path.

Knows: how API Gateway writes paths. It is stricter than AWS may be: there is no backtracking.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from urllib.parse import unquote

from hibernaut.schemas.immutable import immutable

GREEDY = "{proxy+}"


@immutable
class Route:
    """A resource, by its path (`/v1/agents/{agent_id}`), and the values of the path variables."""

    resource: str
    parameters: dict[str, str] = field(default_factory=dict)


class Routes:
    """The resources of the gateway, as a tree."""

    def __init__(self, resources: Iterable[str]) -> None:
        self._below: dict[str, list[str]] = {"/": []}
        for resource in sorted(set(resources) - {"/"}):
            parent, _, part = resource.rpartition("/")
            self._below.setdefault(resource, [])
            self._below[parent or "/"].append(part)

    def of(self, path: str) -> Route | None:
        """The resource for a path, with or without a trailing slash. At each level a literal part takes precedence over a
        variable one, and that over a greedy one.
        """
        parts = [part for part in path.split("/") if part]
        here, parameters = "/", dict[str, str]()
        for place, part in enumerate(parts):
            chosen = self._chosen(here, part)
            if chosen is None:
                return None
            if chosen == GREEDY:
                parameters["proxy"] = "/".join(parts[place:])
                return Route(_joined(here, GREEDY), parameters)
            if chosen.startswith("{"):
                parameters[chosen.strip("{}")] = unquote(part)
            here = _joined(here, chosen)
        return Route(here, parameters)

    def _chosen(self, here: str, part: str) -> str | None:
        below = self._below[here]
        if part in below:
            return part
        variable = next((one for one in below if one.startswith("{") and one != GREEDY), None)
        return variable or (GREEDY if GREEDY in below else None)


def _joined(here: str, part: str) -> str:
    return f"{here.rstrip('/')}/{part}"
