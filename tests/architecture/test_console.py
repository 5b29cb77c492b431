"""The console's files: what they load, what they must not use, what is vendored, and how much the first view weighs."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

CONSOLE = ROOT / "shared" / "hibernaut" / "console"
APP = CONSOLE / "app"
MODULES = sorted(APP.rglob("*.js"))
VENDORED = {
    "htm-preact-3.1.1.js": "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7",
    "htm.LICENSE.txt": "740725f7252e750af735d0028cc534970772f513331e9f68150fede8fb3ce00f",
    "preact.LICENSE.txt": "1fe6958409c8c257a70c587a18b6f7f412b179b456630790d30b2ec9a8e4b7d4",
}
"""The vendored files as npm's package has them, by SHA-256."""
LARGEST_FIRST_VIEW = 150_000
LONGEST_FILE = 400
LARGEST_PICTURE = 60_000
FIRST, EARLY = APP / "main.js", APP / "home" / "early.js"
"""The modules that the page itself loads. The second one asks for data while the browser loads the others."""
STATIC = re.compile(r'^import\b[^;"]*?"([^"]+)"', re.M)
LATE = re.compile(r'\bimport\("(\./[^"]+\.js)"\)(?=\.then)')
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function|DOMParser|createContextualFragment"
    r"|srcdoc|\bon(?:click|load|error)=|\bstyle=\"|EventSource|serviceWorker|window\.open"
)
"""What would write markup from strings, or need a wider policy."""


def imported(module: Path) -> set[Path]:
    """The modules that a module loads before it runs."""
    return {(module.parent / name).resolve() for name in STATIC.findall(module.read_text(encoding="utf-8"))}


def closure(first: Path) -> set[Path]:
    found, waiting = {first}, [first]
    while waiting:
        more = {one for one in imported(waiting.pop()) if one.suffix == ".js" and CONSOLE in one.parents} - found
        found |= more
        waiting += more
    return found


@pytest.mark.parametrize("name", VENDORED)
def test_what_is_vendored_is_unchanged(name: str) -> None:
    assert sha256((CONSOLE / "vendor" / name).read_bytes()).hexdigest() == VENDORED[name]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(APP)))
def test_a_module_writes_no_markup_and_imports_its_own_files_only(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert FORBIDDEN.findall(text) == []
    names = STATIC.findall(text) + LATE.findall(text)
    assert [name for name in names if not name.startswith(".") or not (module.parent / name).resolve().is_file()] == []
    assert re.findall(r"https?://(?!www\.w3\.org)\w", text) == []
    assert len(text.splitlines()) <= LONGEST_FILE


def test_every_module_is_loaded_by_another_one() -> None:
    late = {(module.parent / name).resolve() for module in MODULES for name in LATE.findall(module.read_text(encoding="utf-8"))}
    reached = set().union(closure(FIRST), closure(EARLY), *(closure(one) for one in late))
    assert set(MODULES) - reached == set()


def test_the_page_names_all_that_the_first_view_loads_at_once() -> None:
    page = (CONSOLE / "index.html").read_text(encoding="utf-8")
    named = {CONSOLE / name for name in re.findall(r'<link rel="modulepreload" href="\{files\}/([^"]+)"', page)}
    assert named == closure(FIRST) - {FIRST}
    run = re.findall(r'<script type="module"(?: async)? src="\{files\}/([^"]+)"', page)
    assert [CONSOLE / name for name in run] == [EARLY, FIRST]


def test_what_asks_for_data_early_waits_for_two_modules_that_import_nothing() -> None:
    needed = imported(EARLY)
    assert len(needed) == 2
    assert set().union(*map(imported, needed)) == set()
    assert needed <= closure(FIRST), "those who ask later must find what was asked"


def test_the_first_view_is_light() -> None:
    page = (CONSOLE / "index.html").read_text(encoding="utf-8")
    styles = [CONSOLE / name for name in re.findall(r'<link rel="(?:stylesheet|icon)" href="\{files\}/([^"]+)"', page)]
    first = sum(path.stat().st_size for path in {*closure(FIRST), EARLY, *styles, CONSOLE / "index.html"})
    assert first <= LARGEST_FIRST_VIEW
    assert len(styles) == 3


def test_no_style_sheet_loads_anything() -> None:
    for path in CONSOLE.rglob("*.css"):
        assert re.findall(r"url\(|@import|@font-face", path.read_text(encoding="utf-8")) == []


def test_the_pictures_of_the_page_are_there_and_small() -> None:
    page = (ROOT / "docs" / "console.md").read_text(encoding="utf-8")
    named = {ROOT / "docs" / name for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page)}
    assert named == set((ROOT / "docs" / "console").iterdir())
    assert {path.name: path.stat().st_size for path in named if path.stat().st_size > LARGEST_PICTURE} == {}
