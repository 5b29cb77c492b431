"""A parser for Google-style docstrings: the description of a function and of its parameters. Knows text only, not Python's
syntax.

It uses the library `docstring-parser`, as V1 does, and imports it at the first call.
"""

from __future__ import annotations

from inspect import cleandoc
from textwrap import indent

from hibernaut.schemas.immutable import immutable


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
    from docstring_parser import DocstringStyle, ParseError, parse

    text = cleandoc(docstring)
    try:
        found = parse(text, DocstringStyle.GOOGLE)
    except ParseError as error:
        return Docstring(text, {}, str(error).partition("\n")[0][:200])
    examples = [f"{example.args[0].title()}:\n{indent(example.description or '', '    ')}" for example in found.examples]
    parts = (part.strip() for part in (found.description or "", *examples))
    parameters = {parameter.arg_name.lstrip("*"): (parameter.description or "").strip() for parameter in found.params}
    return Docstring("\n\n".join(part for part in parts if part), parameters)
