"""The pages for users are complete: every setting, every error code, every group of routes, every lane has its line."""

from __future__ import annotations

import ast
import re

from hibernaut.rest.http import lanes
from hibernaut.schemas import errors
from hibernaut.wiring import settings
from hibernaut.wiring.configuration.provider_variables import BEDROCK_NAMES, PROVIDER_NAMES
from tests.architecture.tree import ROOT, files, parsed
from tests.support.api_description import api_description

VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
OF_THE_PLATFORM = "AWS_"
"""The beginning of the variables that Lambda sets. No user sets one."""
LANES = {
    "reads": lanes.READS,
    "writes": lanes.WRITES,
    "cancels": lanes.CONTROL,
    "deletions": lanes.DELETIONS,
    "searches": lanes.SEARCHES,
    "creation and changes of tools": lanes.TOOL_SOURCES,
    "runs of tools (`/run`), changes of MCP servers": lanes.TOOL_RUNS,
    "uploads, imports": lanes.UPLOADS,
    "lists of models, checks of providers": lanes.PROVIDERS,
    "reading of large bodies": lanes.BODIES,
    "compactions, `/generate`": lanes.SUMMARIES,
    "acceptance of messages": lanes.ADMISSIONS,
    "blocking messages": lanes.TURNS,
    "reads for followers of runs": lanes.LOOKS,
    "checks of keys": lanes.ACCESS,
    "`/docs`, `/openapi.json`": lanes.DOCUMENTATION,
}
"""The line of the page -> the lane that it is about."""


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def rows(name: str) -> list[list[str]]:
    """The cells of each line of the page's tables."""
    return [line.strip("| ").split(" | ") for line in page(name).splitlines() if line.startswith("| ")]


def error_codes(kind: type[errors.HibernautError] = errors.HibernautError) -> set[str]:
    return {kind.code}.union(*(error_codes(one) for one in kind.__subclasses__()))


def variables_read() -> set[str]:
    """The variables that the settings read: the texts of that form in every module of `wiring`, and the providers' variables,
    which the adapters name.
    """
    texts = {
        node.value
        for file in files(("shared/hibernaut/wiring",), "*.py")
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and VARIABLE.fullmatch(node.value)
    }
    return {name for name in texts.union(PROVIDER_NAMES, BEDROCK_NAMES) if not name.startswith(OF_THE_PLATFORM)}


def variables_of_the_page() -> set[str]:
    """The variables that have a line in the page of settings."""
    return {name for cells in rows("configuration.md") for name in re.findall(f"`({VARIABLE.pattern})`", cells[0])}


def test_every_setting_has_a_line_in_the_page_of_settings() -> None:
    of_providers = {name for cells in rows("models.md") for name in re.findall(f"`({VARIABLE.pattern})`", " ".join(cells))}
    assert variables_read() - variables_of_the_page() - (of_providers & set(PROVIDER_NAMES)) == set()


def test_the_page_of_settings_names_no_variable_that_nothing_reads() -> None:
    assert variables_of_the_page()
    assert variables_of_the_page() - variables_read() == set()


def test_the_module_of_settings_lists_every_setting_of_ours() -> None:
    listed = set(re.findall(r"HIBERNAUT_[A-Z_]+\*?", settings.__doc__ or ""))
    groups = tuple(name.rstrip("*") for name in listed if name.endswith("*"))
    ours = {name for name in variables_read() if name.startswith("HIBERNAUT_")}
    assert {name for name in ours - listed if not name.startswith(groups)} == set()


def test_the_page_of_settings_has_every_lane_with_its_size() -> None:
    section = page("configuration.md").partition("| kind of request |")[2].partition("\n\n")[0]
    told = dict(re.findall(r"^\| (.+?) \| (\d[\d,]* \| \d[\d,]*) \|$", section, re.MULTILINE))
    assert told == {line: f"{lane.threads:,} | {lane.waiting:,}" for line, lane in LANES.items()}
    assert {lane.name for lane in vars(lanes).values() if isinstance(lane, lanes.Lane)} == {lane.name for lane in LANES.values()}


def test_every_error_code_has_a_line_in_the_page_of_errors() -> None:
    assert not {code for code in error_codes() if f"| `{code}` |" not in page("errors.md")}


def test_every_route_group_has_a_line_in_the_page_of_the_api() -> None:
    paths = api_description()["paths"]
    groups = {"/".join(path.split("/")[:3]) for path in paths if path.startswith("/v1/")}
    assert groups
    assert not {group for group in groups if f"`{group}" not in page("api.md")}
