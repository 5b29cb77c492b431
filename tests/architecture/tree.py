"""Where the sources are, for the tests that read all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("shared/hibernaut", "functions", "infra")
PYTHON = (*PRODUCT, "tests", "tools", "benchmarks")
PROSE = ("docs", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "cdk.json", ".ci", "requirements", "events")


PICTURES = {".png"}


def files(roots: tuple[str, ...], pattern: str) -> Iterator[Path]:
    """The files below the roots that hold text."""
    for root in roots:
        path = ROOT / root
        found = [path] if path.is_file() else sorted(path.rglob(pattern))
        yield from (file for file in found if file.is_file() and "__pycache__" not in file.parts and file.suffix not in PICTURES)


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))
