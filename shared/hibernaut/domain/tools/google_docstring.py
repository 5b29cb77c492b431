"""Google-style docstrings: what a function does and what its parameters mean. Knows text only, nothing of Python's syntax.

The library `docstring-parser` reads them, as in V1; it is imported when the first source is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import cleandoc
from textwrap import indent


@dataclass(frozen=True, slots=True)
class Docstring:
    """`description` is the text before the sections and the examples; `parameters` is each parameter's text by name.

    `problem`: why its sections could not be read; "" where they were.
    """

    description: str
    parameters: dict[str, str]
    problem: str = ""


def read(docstring: str) -> Docstring:
    """Never fails: what is not in the style is description."""
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
