"""Inputs of which each is a short motif, repeated: as callers, models and foreign servers may send them.

As a program, it reads each of them in turn, within SECONDS of processor time each, and prints the name of each before.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from contextlib import suppress

from hibernaut.adapters.embedder.minilm_words import WordPieces
from hibernaut.domain import prompt_tags
from hibernaut.domain.memory import memory_patch
from hibernaut.domain.models import tokens
from hibernaut.domain.search import words
from hibernaut.domain.tools import tool_arguments
from hibernaut.domain.tools.mcp import oauth
from hibernaut.domain.tools.sources import tool_schema, typescript_schema
from hibernaut.ports.tools.web import WebPage
from hibernaut.schemas import json_schema
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.services.sending import direct_calls
from hibernaut.services.tool_calls import online_tools

SECONDS = 3
MARKS = "\u0315\u0300" * 100_000
"""Combining marks in an order that normalization changes."""
ESCAPES = "%61" * 20_000


def documented(docstring: str, before: str = "", parameters: str = "x: int") -> str:
    return f'{before}def t({parameters}):\n    """{docstring}\n    """\n'


def inherited(bases: int, heirs: int) -> str:
    """Models whose common base class names another class many times."""
    classes = f'class B(BaseModel):\n    x: int = Field(description="x")\nclass W({"B, " * bases}): pass\n'
    classes += "".join(f"class M{number}(W): pass\n" for number in range(heirs))
    described = "".join(f"        a{number}: x\n" for number in range(heirs))
    return documented(f"Do it.\n\n    Args:\n{described}", classes, ", ".join(f"a{number}: M{number}" for number in range(heirs)))


def typed(declaration: str, parameters: int) -> str:
    """A TypeScript function with many parameters of the type A."""
    return f"{declaration}\n/** D. */\nexport function f({', '.join(f'a{number}: A' for number in range(parameters))}) {{}}"


def with_pointers() -> JsonObject:
    references = [{"$ref": "#/x"} for _ in range(6_000)]
    return {"type": "object", "anyOf": references, "x": {"$ref": f"#/{ESCAPES}"}, "a" * 20_000: {"type": "number"}}


def coerced(args: JsonObject, properties: JsonObject, **others: object) -> JsonObject:
    return tool_arguments.coerce(args, {"parameters": {"properties": properties, **others}})


def page(charset: str) -> WebPage:
    half = b"a" * 500_000
    return WebPage(200, f"text/html; charset={charset}", half + b"-" + half, "https://example.com", truncated=False)


INPUTS: dict[str, Callable[[], object]] = {
    "a parameter of brackets": lambda: tool_schema.derive_schema(documented(f"D.\n\n    Args:\n        x{'(' * 20_000}: X.")),
    "blank lines in a docstring": lambda: tool_schema.derive_schema(
        documented("\n" * 1_000_000 + "D.\n\n    Args:\n        x: X.")
    ),
    "blank lines in a section": lambda: tool_schema.derive_schema(
        documented("D.\n\n    Args:\n        x:" + "\n" * 1_000_000 + "            X.")
    ),
    "a class with many bases": lambda: tool_schema.derive_schema(inherited(40_000, 1_000)),
    "marks in a name": lambda: tool_schema.function_name(f"def t(a{MARKS}): pass\n"),
    "marks in a text": lambda: words.words(f"a{MARKS}"),
    "marks in a text to embed": lambda: WordPieces(["[UNK]", "a"]).count(f"a{MARKS}"),
    "spaces in a tag": lambda: prompt_tags.escaped(f"<{' ' * 100_000}x", ["human"]),
    "spaces in an escaped tag": lambda: prompt_tags.plain(f"&lt;{' ' * 100_000}x", ["human"]),
    "spaces in an update": lambda: prompt_tags.without_update_tags(f"memory_update <{' ' * 200_000}x"),
    "digits": lambda: coerced({"a": f"{'1' * 200_000}x"}, {"a": {"type": "number"}}),
    "a long reference of an argument": lambda: coerced(
        {"a": list(range(20_000))}, {"a": {"items": {"$ref": f"#/{ESCAPES}"}}}, **{"a" * 20_000: {"type": "number"}}
    ),
    "long references of a schema": lambda: json_schema.problem_of(with_pointers()),
    "spaces in a patch": lambda: memory_patch.sections(f"*** Update Block: a{' ' * 100_000}b"),
    "signs and line breaks": lambda: tokens.count("//\n" * 30_000),
    "blank lines in a comment": lambda: typescript_schema.derive_schema(f"/**{chr(10) * 100_000}*/\nfunction f() {{}}"),
    "spaces in a comment": lambda: typescript_schema.derive_schema(f"/** D.\n@param {{}}{' ' * 100_000}! */\nfunction f() {{}}"),
    "a comment on many functions": lambda: typescript_schema.derive_schema(
        f"/** {'x' * 40}{chr(10) * 30_000} */ let {', '.join(['a = () => 1'] * 4_000)};"
    ),
    "a union for many parameters": lambda: typescript_schema.derive_schema(typed(f"type A = string{'|null' * 12_000};", 2_500)),
    "an enum for many parameters": lambda: typescript_schema.derive_schema(typed(f"enum A {{{'a=1,' * 15_000}}}", 2_500)),
    "errors in TypeScript": lambda: typescript_schema.derive_schema(f"let x={'[&lt' * 6_000}"),
    "an error in nested brackets": lambda: typescript_schema.derive_schema(f"x={'[' * 40_000}1 2{']' * 40_000}"),
    "an encoding that no page has": lambda: online_tools._in_utf8(page("punycode")),
    "a challenge without parameters": lambda: oauth.challenged("a" * 100_000),
    "spaces in a fence": lambda: direct_calls.unfenced(f"```{' ' * 20_000}x"),
}


def main() -> None:
    tokens.get_ready()
    for name, read in INPUTS.items():
        print(name, flush=True)
        limit = int(time.process_time()) + 1 + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        with suppress(InvalidArgument):
            read()


if __name__ == "__main__":
    main()
