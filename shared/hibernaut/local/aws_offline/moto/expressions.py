"""Fixes of moto's update expressions, which take most of the time of a write.

Knows: the internals of moto's DynamoDB. Must not know: the tables of the product.

Without these fixes
- each update parses its expression twice, and the same expression again in each later update;
- each check of an expression walks the whole tree and asks abstract base classes, node by node, of which kind a node is;
- the tree is copied by the general `deepcopy`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from hibernaut.local.aws_offline.patching import original_of, put, replace

_PARSED_KEPT = 512
"""Expressions whose trees are kept. The product builds them with numbered placeholders, so that few differ."""


def install() -> None:
    """Apply all fixes; idempotent."""
    from moto.dynamodb.parsing import expressions, validators

    nodes, parser = _nodes(), vars(expressions)["UpdateExpressionParser"]
    make = original_of(vars(parser)["make"].__func__)
    put(parser, "make", classmethod(_once_per_text(make)))
    put(validators, "deepcopy", _copied)
    put(nodes.any, "find_clauses", _find_clauses)
    replace(nodes.traverser, "traverse_node_recursively", lambda _: _traverse)


def _once_per_text(make: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Share the tree of a text: who changes a tree copies it first (`Validator`). A text that is refused is parsed again."""
    kept = functools.lru_cache(_PARSED_KEPT)(make)

    def parsed(parser: Any, text: str) -> Any:
        return kept(parser, text)

    parsed.__dict__["__hibernaut_original__"] = make
    return parsed


_is: Callable[[Any, Any], bool] = functools.cache(issubclass)
"""Whether a class is another one or derived from it; abstract base classes are asked once."""


class _Nodes(NamedTuple):
    """moto's classes: any node, the nodes whose clauses count as their parent's, and who walks a tree."""

    any: Any
    expression: Any
    function: Any
    traverser: Any


@functools.cache
def _nodes() -> _Nodes:
    from moto.dynamodb.parsing import ast_nodes

    names = ("Node", "Expression", "UpdateExpressionFunction", "DepthFirstTraverser")
    return _Nodes(*(vars(ast_nodes)[name] for name in names))


def _copied(value: Any) -> Any:
    """A copy of a tree, whose leaves are texts and numbers. Other values are copied as before."""
    node = _nodes().any
    if not _is(type(value), node):
        return copy.deepcopy(value)
    made = object.__new__(type(value))
    made.__dict__.update(value.__dict__)
    if value.children is not None:
        made.children = [_copied(child) if _is(type(child), node) else child for child in value.children]
        for child in made.children:
            if _is(type(child), node):
                child.parent = made
    return made


def _find_clauses(node: Any, kinds: list[type]) -> list[Any]:
    """As `Node.find_clauses`: the children of these classes, also those of expressions and functions among the children."""
    nodes, found = _nodes(), []
    for child in node.children or []:
        kind = type(child)
        if kind in kinds:
            found.append(child)
        elif _is(kind, nodes.expression) or _is(kind, nodes.function):
            found.extend(_find_clauses(child, kinds))
    return found


def _traverse(traverser: Any, node: Any, child_id: int = -1) -> Any:
    """As `DepthFirstTraverser.traverse_node_recursively`: process the nodes bottom up, and put each result in the place of its
    node.
    """
    kind = type(node)
    if not _is(kind, _nodes().any):
        return node
    parent = node.parent
    if node.children is not None:
        for place, child in enumerate(node.children):
            traverser.pre_processing_of_child(node, place)
            _traverse(traverser, child, place)
    processed = traverser.__dict__.get("hibernaut_processed")
    if processed is None:
        processed = traverser.__dict__["hibernaut_processed"] = traverser.nodes_to_be_processed()
    if any(_is(kind, wanted) for wanted in processed):
        node = traverser.process(node)
        node.parent = parent
        if parent:
            parent.children[child_id] = node
    return node
