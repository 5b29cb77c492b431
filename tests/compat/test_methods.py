"""Every method of the SDK that has to do with talking to agents is called by a test of this folder. Starts no server."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest
from letta_client import Letta

AREAS = (
    "agents.files",
    "agents.folders",
    "agents.messages",
    "agents.passages",
    "archives",
    "conversations",
    "folders",
    "runs",
    "steps",
)
NO_METHODS = ("with_raw_response", "with_streaming_response")
"""What every resource has to show the same calls in another way."""


def methods(resource: type, path: str) -> Iterator[str]:
    """The dotted names of a resource's methods, and of those of its parts."""
    for name, member in vars(resource).items():
        if name.startswith("_") or name in NO_METHODS:
            continue
        if isinstance(member, cached_property):
            yield from methods(_part(member), f"{path}.{name}")
        elif callable(member):
            yield f"{path}.{name}"


def _part(member: cached_property[object]) -> type:
    """The class that a cached property makes, as its annotation names it."""
    return vars(__import__(member.func.__module__, fromlist=["_"]))[member.func.__annotations__["return"]]


def called() -> set[str]:
    """The dotted names behind `client.` in the tests of this folder."""
    return {
        ast.unparse(node).removeprefix("client.")
        for file in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("client.")
    }


@pytest.mark.parametrize("area", AREAS)
def test_every_method_is_called(area: str) -> None:
    with Letta(base_url="http://127.0.0.1:9", api_key="any") as client:
        resource: object = client
        for name in area.split("."):
            resource = getattr(resource, name)
    found = set(methods(type(resource), area))
    assert len(found) >= 3
    assert sorted(found - called()) == []
