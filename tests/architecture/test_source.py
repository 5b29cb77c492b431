"""Every source file keeps the style that a linter has no rule for. Knows the tree, imports none of it."""

from __future__ import annotations

import ast
import re
import subprocess

import pytest

from tests.architecture.tree import PRODUCT, PROSE, PYTHON, ROOT, files, name, parsed

WALL, HANDLER_WALL = 400, 60
# The brackets keep this file from finding itself.
UNFINISHED = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K])\b|\b[Ff]or no[w]\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home|Users)/\w")
EMPTY_NAME = re.compile(r"(Manager|Helpers?|Utils?)$")


def lines(text: str) -> int:
    return len(text.splitlines())


def test_no_file_passes_the_wall() -> None:
    longest = {
        name(file): count
        for file in files(PYTHON, "*.py")
        if (count := lines(file.read_text(encoding="utf-8"))) > (HANDLER_WALL if file.name == "handler.py" else WALL)
    }
    assert longest == {}


def test_only_the_settings_read_the_environment() -> None:
    readers = {
        name(file)
        for file in files(("shared/hibernaut", "functions"), "*.py")
        if "aws_offline" not in file.parts  # it plays Lambda, which sets the environment of its functions
        for node in ast.walk(parsed(file))
        if (isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv"})
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and {"environ", "getenv"} & {alias.name for alias in node.names}
        )
    }
    child = "shared/hibernaut/adapters/tool_runner/child.py"  # it runs with an empty environment, and gives a tool its variables
    assert readers <= {"shared/hibernaut/wiring/settings.py", child}


def test_the_repository_holds_nothing_that_a_tool_left_behind() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    known = {*PYTHON, *PROSE, ".gitignore", "LICENSE"}
    assert {
        path for path in tracked.split("\0") if path and not any(path == each or path.startswith(f"{each}/") for each in known)
    } == set()


def test_every_module_says_what_it_knows() -> None:
    assert [name(file) for file in files(PYTHON, "*.py") if not ast.get_docstring(parsed(file))] == []


def test_every_product_folder_is_a_package() -> None:
    # The layers' checker does not look into a folder without one, so its imports would go unseen.
    folders = {file.parent for file in files(PRODUCT, "*.py")}
    assert [name(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_nothing_is_left_for_later() -> None:
    texts = [*files(PYTHON, "*.py"), *files(PROSE, "*")]
    assert [name(file) for file in texts if UNFINISHED.search(file.read_text(encoding="utf-8"))] == []


def test_no_path_of_one_machine_is_written_down() -> None:
    texts = [*files(PYTHON, "*"), *files(PROSE, "*")]
    assert [name(file) for file in texts if MACHINE_PATH.search(file.read_text(encoding="utf-8"))] == []


def test_no_class_is_named_for_its_emptiness() -> None:
    classes = [
        (name(file), node) for file in files(PYTHON, "*.py") for node in ast.walk(parsed(file)) if isinstance(node, ast.ClassDef)
    ]
    assert [(file, node.name) for file, node in classes if EMPTY_NAME.search(node.name)] == []


def test_doubles_are_real_classes_not_mocks() -> None:
    imports = {
        name(file)
        for file in files(("tests", "benchmarks"), "*.py")
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Import | ast.ImportFrom) and "unittest" in ast.unparse(node)
    }
    assert imports == set()


def test_no_class_name_stands_in_two_modules() -> None:
    found: dict[str, set[str]] = {}
    for file in files(PRODUCT, "*.py"):
        for node in ast.walk(parsed(file)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).add(name(file))
    assert {each: modules for each, modules in found.items() if len(modules) > 1} == {}
