"""The models that the project recommends and chooses are not being shut down, as far as the providers' SDKs announce it."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from hibernaut.adapters.model.default_model import PREFERRED
from hibernaut.adapters.model.demo.demo_script import INTRODUCTION
from hibernaut.domain.models.model_settings import CHEAP_MODELS
from tests.architecture.tree import ROOT

NAME = re.compile(r"\b(?:gpt|claude|gemini|o\d)-[a-z0-9][a-z0-9.-]*[a-z0-9]\b")
GOOGLE = {"gemini-2.0-flash", "gemini-2.0-flash-lite", "gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-pro-preview"}
"""Models with a shutdown date in ai.google.dev/gemini-api/docs/deprecations, as of November 2026."""
GENERATED = {"compatibility.md"}
"""Its rows name models of V1."""


def source(module: str) -> ast.Module:
    """The source of a package's module, which is not imported."""
    package, _, rest = module.partition(".")
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return ast.parse((Path(spec.origin).parent / f"{rest.replace('.', '/')}.py").read_text(encoding="utf-8"))


def shut_down() -> set[str]:
    """The models with a shutdown date: OpenAI's stand in the text behind the type, Anthropic's in a table."""
    strings = [node.value for node in ast.walk(source("openai.types.shared.chat_model")) if isinstance(node, ast.Constant)]
    (announced,) = [text for text in strings if isinstance(text, str) and "shutdown date" in text]
    tables = [
        node.value
        for node in source("anthropic.resources.messages.messages").body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DEPRECATED_MODELS"
    ]
    return {*re.findall(r'"([^"]+)"', announced), *ast.literal_eval(tables[0]), *GOOGLE}


def test_the_announcements_are_found() -> None:
    assert {"gpt-4o-mini", "gpt-5-mini", "claude-sonnet-4-5"} <= shut_down()
    assert not {"gpt-5.4-mini", "claude-sonnet-4-6"} & shut_down()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(file.read_text(encoding="utf-8"), id=file.name)
        for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.*"))]
        if file.name not in GENERATED
    ],
)
def test_no_page_recommends_a_model_that_is_shut_down(text: str) -> None:
    """Tables say what each model takes, those that are still served as well; sentences and examples recommend."""
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    assert set(NAME.findall(prose)) & shut_down() == set()


def test_no_default_is_a_model_that_is_shut_down() -> None:
    chosen = {*CHEAP_MODELS.values(), *(name for names in PREFERRED.values() for name in names)}
    assert {name.rpartition("/")[2] for name in chosen} & shut_down() == set()
    assert set(NAME.findall(INTRODUCTION)) & shut_down() == set()
    assert set(NAME.findall(INTRODUCTION)) <= set(PREFERRED["openai"])
