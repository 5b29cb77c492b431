"""The programs of the pages of `docs/`, which tests run."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def program_of(page: str, test: str) -> tuple[str, str]:
    """The program of a page that names this test as the one that runs it, without its imports of the SDK; and what the page says
    that it prints.
    """
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- run by tests/compat/{test} -->\n```python\n(.*?)```.*?\n```\n(.*?)\n```", text, re.DOTALL)
    assert found is not None
    return found[1].replace("from letta_client import Letta", ""), found[2]
