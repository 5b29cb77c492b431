"""The pages for users are complete: every setting, every error code, every group of routes has its line."""

from __future__ import annotations

import re
from pathlib import Path

from hibernaut.schemas import errors
from hibernaut.wiring import identity, outward, settings, tracing
from hibernaut.wiring.configuration import browser_settings, provider_variables, schedule_settings, tool_settings
from tests.support.api_description import api_description

ROOT = Path(__file__).parents[2]
VARIABLE = re.compile(r"\b(?:HIBERNAUT|OPENAI|ANTHROPIC)_[A-Z_]+\b")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def error_codes(kind: type[errors.HibernautError] = errors.HibernautError) -> set[str]:
    return {kind.code}.union(*(error_codes(one) for one in kind.__subclasses__()))


def test_every_setting_has_a_line_in_the_page_of_settings() -> None:
    code = [
        Path(str(module.__file__)).read_text().split('"""', 2)[2]
        for module in (settings, identity, outward, provider_variables, schedule_settings, tool_settings)
    ]
    read = set(VARIABLE.findall("".join(code)))
    assert read
    assert not {name for name in read if f"`{name}`" not in page("configuration.md")}


def test_the_page_of_settings_names_no_variable_that_nothing_reads() -> None:
    source = "".join(
        Path(str(module.__file__)).read_text()
        for module in (
            settings,
            browser_settings,
            identity,
            outward,
            provider_variables,
            schedule_settings,
            tool_settings,
            tracing,
        )
    )
    named = set(VARIABLE.findall(page("configuration.md"))) - set(provider_variables.PROVIDER_NAMES)
    assert not {name for name in named if name not in source}


def test_every_error_code_has_a_line_in_the_page_of_errors() -> None:
    assert not {code for code in error_codes() if f"| `{code}` |" not in page("errors.md")}


def test_every_route_group_has_a_line_in_the_page_of_the_api() -> None:
    paths = api_description()["paths"]
    groups = {"/".join(path.split("/")[:3]) for path in paths if path.startswith("/v1/")}
    assert groups
    assert not {group for group in groups if f"`{group}" not in page("api.md")}
