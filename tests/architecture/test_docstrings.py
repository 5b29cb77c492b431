"""Every public function and method of the listed layers says what its name and types cannot: what it returns, which errors it
raises, units, order, limits. Knows the tree, imports none of it.

Excepted are kinds, not names:

* what implements a port or a base class: the docstring there is the contract;
* properties: they are fields of their class, whose docstring describes its fields;
* functions in functions, and members of private classes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from tests.architecture.tree import PRODUCT, files, name, parsed

LAYERS = ("domain", "ports", "services")
PROPERTIES = {"property", "cached_property", "setter"}
Signature = tuple[str, tuple[str, ...]]


def functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def classes(tree: ast.AST) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def last_word(expression: ast.expr) -> str:
    """`Protocol` of `typing.Protocol[T]`, `setter` of `size.setter`."""
    return ast.unparse(expression).partition("(")[0].partition("[")[0].rpartition(".")[2]


def signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Signature:
    args = function.args
    parameters = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return function.name, tuple(each.arg for each in parameters if each is not None)


def contracts(trees: list[ast.Module]) -> set[Signature]:
    """The documented methods of protocols and of classes that have subclasses."""
    found = [each for tree in trees for each in classes(tree)]
    bases = {"Protocol", *(last_word(base) for each in found for base in each.bases)}
    documented = [each for each in found if each.name in bases or "Protocol" in map(last_word, each.bases)]
    return {signature(method) for each in documented for method in functions(each.body) if ast.get_docstring(method)}


def undocumented(tree: ast.Module, agreed: set[Signature]) -> list[str]:
    """The public functions and methods of a module without a docstring, as `line name`."""
    methods = chain.from_iterable(functions(each.body) for each in classes(tree) if not each.name.startswith("_"))
    plain = [each for each in methods if not PROPERTIES & {last_word(one) for one in each.decorator_list}]
    lacking = [each for each in plain if signature(each) not in agreed] + list(functions(tree.body))
    return [f"{each.lineno} {each.name}" for each in lacking if not each.name.startswith("_") and not ast.get_docstring(each)]


def test_every_public_function_of_these_layers_has_a_docstring() -> None:
    agreed = contracts([parsed(file) for file in files(PRODUCT, "*.py")])
    sources = files(tuple(f"shared/hibernaut/{layer}" for layer in LAYERS), "*.py")
    assert {name(file): found for file in sources if (found := undocumented(parsed(file), agreed))} == {}


def test_a_function_without_a_docstring_is_found_and_one_of_a_port_is_not() -> None:
    port = ast.parse('class Port(Protocol):\n    def put(self, key: str) -> None:\n        """Put."""')
    code = ast.parse(
        "def free() -> int: ...\n"
        "class Engine:\n"
        "    @property\n    def size(self) -> int: ...\n"
        "    def put(self, key: str) -> None: ...\n"
        "    def drop(self, key: str) -> None: ...\n"
        "class _Private:\n    def run(self) -> None: ...\n"
    )
    assert undocumented(code, contracts([port, code])) == ["6 drop", "1 free"]
