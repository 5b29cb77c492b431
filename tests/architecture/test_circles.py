"""No circle of imports: neither of modules nor of the packages in a layer, also by imports inside functions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter

import grimp

PRODUCT = "hibernaut"


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """The modules that each module imports when it runs."""
    graph = grimp.build_graph(PRODUCT, exclude_type_checking_imports=True, cache_dir=None)
    return {name: frozenset(graph.find_modules_directly_imported_by(name)) for name in graph.modules}


def circle(graph: Mapping[str, frozenset[str]]) -> list[str]:
    """A circle in the graph, as names in order; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def room(module: str) -> str | None:
    """The package of a module within its layer, such as `hibernaut.rest.routers`; None for what the layer's packages share."""
    parts = module.split(".")
    is_package = any(other.startswith(f"{module}.") for other in imports())
    inside = parts if is_package else parts[:-1]
    return ".".join(inside[:3]) if len(inside) > 2 else None


def test_no_modules_import_each_other() -> None:
    assert circle(imports()) == []
    assert len(imports()) > 500


def test_no_packages_of_a_layer_import_each_other() -> None:
    rooms: dict[str, set[str]] = {}
    for importer, imported in imports().items():
        own = room(importer)
        if own is not None:
            others = {there for each in imported if (there := room(each)) is not None and there != own}
            rooms.setdefault(own, set()).update(others)
    assert circle({name: frozenset(others) for name, others in rooms.items()}) == []
    assert {"hibernaut.services.turns", "hibernaut.rest.routers", "hibernaut.domain.turn"} <= rooms.keys()


def test_a_circle_is_found() -> None:
    assert set(circle({"a": frozenset({"b"}), "b": frozenset({"c"}), "c": frozenset({"a"})})) == {"a", "b", "c"}
