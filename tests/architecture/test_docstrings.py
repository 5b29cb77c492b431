"""Every public function and method of the product says what its name and types cannot: what it returns, which errors it
raises, units, order, limits. Knows the tree, imports none of it.

Excepted are kinds, not names:

* what implements a port, another protocol or a base class: the docstring there is the contract;
* properties: they are fields of their class, whose docstring describes its fields;
* the calls of a vendor's client (`**request`): the vendor describes them;
* the functions of `keys.py` and `*_keys.py` that build a key: the module's docstring lists the forms of its keys;
* methods of `rest` without parameters: they give what a query string says in the form of the use case;
* functions in functions, and members of private classes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import PRODUCT, files, name, parsed

PROPERTIES = {"property", "cached_property", "setter"}
KEY_WORD = re.compile("[A-Z]{2,}")
Signature = tuple[str, tuple[str, ...]]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(body: list[ast.stmt]) -> Iterator[Function]:
    return (node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in tree.body if isinstance(node, ast.ClassDef))


def last_word(expression: ast.expr) -> str:
    """`Protocol` of `typing.Protocol[T]`, `setter` of `size.setter`."""
    return ast.unparse(expression).partition("(")[0].partition("[")[0].rpartition(".")[2]


def signature(function: Function) -> Signature:
    args = function.args
    parameters = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return function.name, tuple(each.arg for each in parameters if each is not None)


def contracts(trees: list[ast.Module]) -> set[Signature]:
    """The documented methods of protocols and of classes that have subclasses."""
    found = [each for tree in trees for each in classes(tree)]
    bases = {"Protocol", *(last_word(base) for each in found for base in each.bases)}
    documented = [each for each in found if each.name in bases or "Protocol" in map(last_word, each.bases)]
    return {signature(method) for each in documented for method in functions(each.body) if ast.get_docstring(method)}


def is_plain(method: Function) -> bool:
    """Whether a method is neither a property nor a call of a vendor's client."""
    takes_anything = method.args.kwarg is not None and len(signature(method)[1]) == 2
    return not takes_anything and not PROPERTIES & {last_word(one) for one in method.decorator_list}


def builds_a_listed_key(function: Function, listed: str) -> bool:
    """Whether a function returns a key whose parts the docstring of its module lists."""
    if function.returns is None or ast.unparse(function.returns) != "Key":
        return False
    texts = [node.value for node in ast.walk(function) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return all(word in listed for text in texts for word in KEY_WORD.findall(text))


def undocumented(file: Path, tree: ast.Module, agreed: set[Signature]) -> list[str]:
    """The public functions and methods of a module without a docstring, as `line name`."""
    public = [each for each in classes(tree) if not each.name.startswith("_")]
    methods = [each for one in public for each in functions(one.body) if is_plain(each) and signature(each) not in agreed]
    if "rest" in file.parts:
        methods = [each for each in methods if len(signature(each)[1]) > 1]
    free = list(functions(tree.body))
    if file.stem == "keys" or file.stem.endswith("_keys"):
        free = [each for each in free if not builds_a_listed_key(each, ast.get_docstring(tree) or "")]
    return [
        f"{each.lineno} {each.name}"
        for each in (*methods, *free)
        if not each.name.startswith("_") and not ast.get_docstring(each)
    ]


def test_every_public_function_has_a_docstring() -> None:
    trees = {file: parsed(file) for file in files(PRODUCT, "*.py")}
    agreed = contracts(list(trees.values()))
    assert {name(file): found for file, tree in trees.items() if (found := undocumented(file, tree, agreed))} == {}


def test_a_function_without_a_docstring_is_found_and_one_of_a_port_is_not() -> None:
    port = ast.parse('class Port(Protocol):\n    def put(self, key: str) -> None:\n        """Put."""')
    code = ast.parse(
        "def free() -> int: ...\n"
        "class Engine:\n"
        "    @property\n    def size(self) -> int: ...\n"
        "    def put(self, key: str) -> None: ...\n"
        "    def drop(self, key: str) -> None: ...\n"
        "    def invoke(self, **request: str) -> None: ...\n"
        "class _Private:\n    def run(self) -> None: ...\n"
    )
    assert undocumented(Path("engine.py"), code, contracts([port, code])) == ["6 drop", "1 free"]


def test_a_key_that_its_module_does_not_list_is_found() -> None:
    listed = '"""t#RUN#run  STEP#step  a step"""\n'
    code = 'def step(t: str) -> Key:\n    return Key(f"{t}#RUN#1", "STEP#1")\ndef journal(t: str) -> Key:\n    return Key(f"{t}#RUN#1", "JOURNAL")'
    assert undocumented(Path("run_keys.py"), ast.parse(listed + code), set()) == ["4 journal"]
