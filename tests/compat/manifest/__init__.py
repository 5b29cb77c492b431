"""The compatibility manifest as data: one module per resource, each with `ROWS`; a new module is found by itself.

`docs/compatibility.md` is generated from it (`python -m tests.compat.manifest.page > docs/compatibility.md`).
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from tests.compat.manifest.form import Row

NOT_ROWS = ("form", "page")


def sections() -> dict[str, tuple[Row, ...]]:
    """Module -> its rows, in the order of names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in NOT_ROWS)
    return {name: import_module(f"{__name__}.{name}").ROWS for name in names}


def rows() -> list[Row]:
    return [row for section in sections().values() for row in section]
