"""The tables of docs/architecture.md name what there is: files and classes that exist, and every package of the layers that they
list.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

PACKAGE = ROOT / "shared" / "hibernaut"
ROWS = [line for line in (ROOT / "docs" / "architecture.md").read_text().splitlines() if line.startswith("|")]
QUESTIONS = [row for row in ROWS if row.partition("?")[0].startswith(("| Where", "| Who", "| How", "| What", "| Which"))]
PATH = re.compile(r"`((?:functions/|infra/|tests/)?[a-z_]+(?:/[\w.]+)+)`(?: \(`(\w+)`\))?")
LISTED = ("services", "domain", "store", "wiring", "local")
"""The layers whose table names every package. That of `schemas` ends with what all of them use."""


def there(path: str) -> Path:
    """The file or folder of a path as the page writes it."""
    place = (ROOT if path.startswith(("functions/", "infra/", "tests/")) else PACKAGE) / path
    return place if place.exists() else place.with_name(f"{place.name}.py")


def test_every_answer_names_files_and_classes_that_exist() -> None:
    named = [found for row in QUESTIONS for found in PATH.findall(row)]
    assert len(named) > 50
    assert not {path for path, _ in named if not there(path).exists()}
    assert not {(path, name) for path, name in named if name and f"class {name}" not in there(path).read_text()}


@pytest.mark.parametrize("layer", LISTED)
def test_the_table_of_a_layer_names_each_of_its_packages(layer: str) -> None:
    names = {path.stem for path in (PACKAGE / layer).iterdir() if path.stem not in ("__init__", "__pycache__")}
    begin = ROWS.index(f"| `{layer}/` | contents |")
    table = []
    for row in ROWS[begin + 2 :]:
        if row.endswith("| contents |") or row.startswith("| question"):
            break
        table.append(row.split("|")[1])
    listed = set(re.findall(r"`(\w+)`", "".join(table)))
    assert listed == names
