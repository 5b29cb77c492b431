"""No short input keeps the server busy: the time to read a text grows with its length, not with a power of it."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.domain import prompt_tags
from hibernaut.schemas import ids
from tests.properties import long_inputs
from tests.properties.pattern_rules import faults

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
WORDS = "words without repetitions"
TO_THE_END = r"\s+(?P<about>.+)"
"""The end of patterns of the demo model that may stay: nothing follows, so nothing fails behind the second repetition."""
OF_THE_MODULE = "one of the texts of the module, which are checked"
RUNTIME = {
    "hibernaut.schemas.ids: f'{prefix}-{_UUID4}'": [ids.pattern("agent")],
    "hibernaut.domain.prompt_tags: f'<{_rest(labels)}'": [f"<{prompt_tags._rest(['human', ' spaced', '/slashed', '  '])}"],
    "hibernaut.domain.prompt_tags: f'{_ESCAPED}{_rest(labels)}'": [f"<{prompt_tags._rest([])}"],
    "hibernaut.domain.agents.group_turns: f'(?<!\\\\w){re.escape(text)}(?!\\\\w)'": WORDS,
    "hibernaut.domain.models.prices: text": "of the list of prices that is part of the release",
    "hibernaut.domain.models.prices: rules['address']": "of the list of prices that is part of the release",
    "hibernaut.adapters.model.demo.demo_words: f'\\\\b{first}\\\\b'": WORDS,
    "hibernaut.adapters.model.demo.demo_words: _POLITE + pattern": OF_THE_MODULE,
    "hibernaut.adapters.model.wire.provider_errors: pattern": OF_THE_MODULE,
    "hibernaut.adapters.model.bedrock.converse_models: pattern": OF_THE_MODULE,
    "hibernaut.adapters.model.openai.responses_models: pattern": OF_THE_MODULE,
    "hibernaut.adapters.model.openai.chat_refusals: words": OF_THE_MODULE,
    "hibernaut.adapters.model.openai.openai_messages: dialect.effort_models": "matches names of models, of at most some 100 characters",
    "hibernaut.adapters.tool_runner.spares: f'\\\\b{name}\\\\b'": WORDS,
    "hibernaut.adapters.files.child: str(job['pattern'])": "a model's own; the process that searches has a limit of time",
    "infra.network_settings: f'{_IDS[name]}-[0-9a-f]{{8,17}}'": WORDS,
}
"""Patterns that are known at run time only: examples of them, or why none is needed."""


def calls() -> Iterator[tuple[str, ast.Call]]:
    """The calls of `re` in the product, each with the name of its module."""
    for folder, outside in (("shared/hibernaut", ROOT / "shared"), ("functions", ROOT), ("infra", ROOT)):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text()
            if not re.search(r"\bre\.[a-z]", text):
                continue
            name = ".".join(path.relative_to(outside).with_suffix("").parts).removesuffix(".__init__")
            for node in ast.walk(ast.parse(text)):
                match node:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr)) if attr in FUNCTIONS:
                        yield name, node


def evaluated(node: ast.expr, module: str) -> object:
    """The value of an expression at the top level of a module. Raises: NameError if it uses other names."""
    return eval(compile(ast.Expression(node), module, "eval"), dict(vars(importlib.import_module(module))))


def flags_of(call: ast.Call, module: str) -> int:
    given = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    return sum(int(evaluated(each, module)) for each in given if re.match(r"re\.[A-Z]", ast.unparse(each)))


def texts_in(value: object) -> Iterator[str | re.Pattern[str]]:
    """The texts and patterns in a value of a module."""
    if isinstance(value, str | re.Pattern):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts_in(each)
    elif isinstance(value, tuple | list | frozenset):
        for each in value:
            yield from texts_in(each)


def texts_of(module: str) -> list[str | re.Pattern[str]]:
    """The texts and patterns of a module that are patterns."""
    names = vars(importlib.import_module(module)).items()
    return [text for name, value in names if not name.startswith("__") for text in texts_in(value) if is_pattern(text)]


def is_pattern(text: str | re.Pattern[str]) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def test_no_pattern_of_the_product_has_two_repetitions_side_by_side_over_the_same_characters() -> None:
    found: dict[str, list[str]] = {}
    met = set()
    for module, call in calls():
        place = f"{module}: {ast.unparse(call.args[0])}"
        try:
            value = evaluated(call.args[0], module)
        except NameError:
            met.add(place)
            examples = RUNTIME.get(place, [])
            patterns = texts_of(module) if examples == OF_THE_MODULE else examples if isinstance(examples, list) else []
        else:
            assert isinstance(value, str | bytes | re.Pattern), place
            patterns = [value if isinstance(value, re.Pattern) else re.compile(value, flags_of(call, module))]
        for pattern in map(re.compile, patterns):
            if not str(pattern.pattern).endswith(TO_THE_END) and (pairs := faults(pattern)):
                found[f"{place}: {pattern.pattern!r}"] = pairs
    assert found == {}
    assert met == set(RUNTIME)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\d+\.?\d*",
        r"<\s*/?\s*x",
        r"(\S.*?)[ \t]*$",
        r"(?:\s+)*x",
        r"a*(?:b|a*)c",
        r"\s*(?=\s*x)",
        r"(?:x\s*)?\s+y",
        r"```\s*(.*?)\s*```",
    ],
)
def test_the_rule_finds_repetitions_side_by_side(pattern: str) -> None:
    assert faults(re.compile(pattern, re.DOTALL))


@pytest.mark.parametrize(
    "pattern", [r"\d++(?:\.\d*+)?", r"<\s*+(?:/\s*+)?x", r"\s*\S+", r"\w+ \w+", r"(?:\s+x)*y", r"[ab]{1,9}a*"]
)
def test_the_rule_permits_others(pattern: str) -> None:
    assert not faults(re.compile(pattern))


def test_long_inputs_are_read_in_seconds_of_processor_time() -> None:
    program = [sys.executable, "-m", long_inputs.__name__]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"read too slowly, or not at all: {done.stdout.splitlines()[-1:]}\n{done.stderr}"
    assert done.stdout.splitlines() == list(long_inputs.INPUTS)
