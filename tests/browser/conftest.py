"""The browser, the server and the visit that most tests of the console begin with.

A file that needs another server makes its own `served`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.console import Served, Visit, browser, serving, visiting


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One browser for all files: each visit has a context of its own."""
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose model follows a script."""
    with serving(tmp_path_factory.mktemp("data"), scripted=True) as server:
        yield server


@pytest.fixture
def visit(chromium: Browser, served: Served) -> Iterator[Visit]:
    """A page of the console."""
    with visiting(chromium, served.url) as opened:
        yield opened
