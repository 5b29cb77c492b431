"""A parser for Google-style docstrings: the description of a function and of its parameters. Knows text only, not Python's
syntax.

It uses the library `docstring-parser`, as V1 does, and imports it at the first call. What stands before the colon of a parameter
is read here: the library's pattern takes a time that grows with the cube of its length.
"""

from __future__ import annotations

from functools import cache
from inspect import cleandoc
from textwrap import indent
from typing import TYPE_CHECKING

from hibernaut.schemas.immutable import immutable

if TYPE_CHECKING:
    from docstring_parser import DocstringMeta
    from docstring_parser.google import GoogleParser, Section

MOST_BLANK_LINES = 100
"""The number of blank lines in a row that are kept: removing them takes a time that grows with the square of their number."""


@immutable
class Docstring:
    """`description` is the text before the sections and the examples; `parameters` maps the name of each parameter to its text.

    `problem`: why the sections could not be parsed; "" if there is no problem.
    """

    description: str
    parameters: dict[str, str]
    problem: str = ""


def read(docstring: str) -> Docstring:
    """Parse a docstring. Never fails: text in another style becomes the description."""
    from docstring_parser import ParseError

    text = cleaned(docstring)
    try:
        found = _parser().parse(text)
    except ParseError as error:
        return Docstring(text, {}, str(error).partition("\n")[0][:200])
    examples = [f"{example.args[0].title()}:\n{indent(example.description or '', '    ')}" for example in found.examples]
    parts = (part.strip() for part in (found.description or "", *examples))
    parameters = {parameter.arg_name.lstrip("*"): (parameter.description or "").strip() for parameter in found.params}
    return Docstring("\n\n".join(part for part in parts if part), parameters)


def cleaned(docstring: str) -> str:
    """The text of a docstring as `inspect.cleandoc` gives it, with at most MOST_BLANK_LINES blank lines in a row."""
    lines, blank = list[str](), 0
    for line in docstring.split("\n"):
        blank = 0 if line.strip() else blank + 1
        if blank <= MOST_BLANK_LINES:
            lines.append(line)
    return cleandoc("\n".join(lines))


@cache
def _parser() -> GoogleParser:
    from docstring_parser import DocstringParam
    from docstring_parser.common import PARAM_KEYWORDS
    from docstring_parser.google import GoogleParser

    class LinearParser(GoogleParser):
        """The library's parser with `_name_in` for its pattern."""

        @staticmethod
        def _build_multi_meta(section: Section, before: str, desc: str) -> DocstringMeta:
            if section.key not in PARAM_KEYWORDS:
                return GoogleParser._build_multi_meta(section, before, desc)
            return DocstringParam([section.key, before], desc, _name_in(before), type_name=None, is_optional=None, default=None)

    return LinearParser()


def _name_in(before: str) -> str:
    """The name in `name (type)`; the whole text if it has not this form."""
    name, bracket, rest = before.partition("(")
    kind, closed, further = rest.partition(")")
    if bracket and not kind.strip():  # the first bracket closes nothing, so it may be a part of the type
        kind, closed, _ = further.partition(")")
        kind = f"){kind}"
    return name.strip() if closed and name.strip() and "\n" not in kind.strip() else before
