"""No circle of imports: neither of modules nor of what a package holds, at any depth, also by imports inside functions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter

import grimp

PRODUCT = "hibernaut"


@cache
def imports(*, types: bool = False) -> Mapping[str, frozenset[str]]:
    """The modules that each module imports when it runs. `types`: also those that it imports for annotations alone."""
    graph = grimp.build_graph(PRODUCT, exclude_type_checking_imports=not types, cache_dir=None)
    return {name: frozenset(graph.find_modules_directly_imported_by(name)) for name in graph.modules}


def circle(graph: Mapping[str, frozenset[str]]) -> list[str]:
    """A circle in the graph, as names in order; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def rooms(graph: Mapping[str, frozenset[str]]) -> Mapping[str, frozenset[str]]:
    """The imports between what one package holds: its modules and sub-packages, of every package at any depth.

    An import of two modules counts once, for the two neighbours in their innermost common package. The module of a package itself
    (`__init__`) is no neighbour of what the package holds.
    """
    found: dict[str, set[str]] = {}
    for importer, imported in graph.items():
        own = importer.split(".")
        for each in imported:
            other = each.split(".")
            shared = next((at for at, (one, two) in enumerate(zip(own, other, strict=False)) if one != two), None)
            if shared is not None:
                found.setdefault(".".join(own[: shared + 1]), set()).add(".".join(other[: shared + 1]))
    return {name: frozenset(others) for name, others in found.items()}


def test_no_modules_import_each_other() -> None:
    assert circle(imports()) == []
    assert len(imports()) > 500


def test_no_modules_name_each_other_in_annotations() -> None:
    assert circle(imports(types=True)) == []


def test_nothing_in_a_package_imports_its_neighbour_in_a_circle() -> None:
    found = rooms(imports())
    assert circle(found) == []
    # A package in a layer, a module directly in a layer, and a package one level deeper.
    assert {"hibernaut.services.turns", "hibernaut.local.command", "hibernaut.adapters.model.bedrock"} <= found.keys()


def test_a_circle_is_found() -> None:
    assert set(circle({"a": frozenset({"b"}), "b": frozenset({"c"}), "c": frozenset({"a"})})) == {"a", "b", "c"}


def test_a_circle_of_a_module_with_the_package_beside_it_is_found() -> None:
    graph = {"p.command": {"p.options.chat"}, "p.options.chat": {"p.chat.screen"}, "p.chat.server": {"p.command"}}
    assert circle({name: frozenset(others) for name, others in graph.items()}) == []
    found = rooms({name: frozenset(others) for name, others in graph.items()})
    assert set(circle(found)) == {"p.command", "p.options", "p.chat"}
