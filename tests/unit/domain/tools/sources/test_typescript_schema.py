"""Schemas from sources in TypeScript."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.tools.sources.tool_sources import check, derive_schema, function_name, schema_from_args
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument, InvalidToolSource
from hibernaut.schemas.tools.tool import LARGEST_SOURCE

TYPES = """
enum Colour { Red = "red", Blue = "blue" }
enum Level { Low = 1, High = 2 }
interface Point {
  /** Across. */
  x: number;
  "y"?: number | null;
  colour: Colour;
}
type Points = Point[];
type Maybe = string | undefined;
"""
POINT = {
    "type": "object",
    "properties": {
        "x": {"type": "number", "description": "Across."},
        "y": {"type": "number"},
        "colour": {"type": "string", "enum": ["red", "blue"]},
    },
    "required": ["x", "colour"],
}


def parameters(signature: str, before: str = TYPES) -> JsonObject:
    schema = derive_schema(f"{before}/** Does it. */\nexport function f({signature}) {{}}", "typescript")
    found: JsonObject = schema["parameters"]
    return found


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        ("string", {"type": "string"}),
        ("number", {"type": "number"}),
        ("boolean", {"type": "boolean"}),
        ("object", {"type": "object"}),
        ("Record<string, number>", {"type": "object"}),
        ("string[]", {"type": "array", "items": {"type": "string"}}),
        ("readonly number[]", {"type": "array", "items": {"type": "number"}}),
        ("Array<ReadonlyArray<boolean>>", {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}),
        ("(string)", {"type": "string"}),
        ("'a' | \"b\"", {"type": "string", "enum": ["a", "b"]}),
        ("1 | 2.5", {"type": "number", "enum": [1, 2.5]}),
        ("true", {"type": "boolean", "enum": [True]}),
        (
            "[string, number]",
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "minItems": 2, "maxItems": 2},
        ),
        (
            "{ a: string; b?: number }",
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a"]},
        ),
        ("Point", POINT),
        ("Points", {"type": "array", "items": POINT}),
        ("Level", {"type": "number", "enum": [1, 2]}),
    ],
)
def test_a_type_becomes_a_schema(kind: str, schema: JsonObject) -> None:
    assert parameters(f"a: {kind}") == {"type": "object", "properties": {"a": schema}, "required": ["a"]}


@pytest.mark.parametrize("parameter", ["a?: string", "a: string = 'x'", "a: string | undefined", "a: null | string", "a: Maybe"])
def test_a_parameter_that_may_be_left_out_is_not_required(parameter: str) -> None:
    assert parameters(parameter) == {"type": "object", "properties": {"a": {"type": "string"}}, "required": []}


def test_the_comment_describes_the_function_and_its_parameters() -> None:
    source = """
    /** Of no interest. */
    function before(x: number) {}
    /**
     * Adds two things.
     *
     * Really.
     * @param a - the first,
     *   over two lines
     * @param {number} [b=1] the second
     * @returns nothing
     */
    export default async function add(this: unknown, a: number, b: number = 1): Promise<void> {}
    function after(y) {}
    """
    schema = derive_schema(source, "typescript")
    properties = schema["parameters"]["properties"]
    assert (schema["name"], schema["description"]) == ("add", "Adds two things.\n\nReally.")
    assert {name: part["description"] for name, part in properties.items()} == {
        "a": "the first, over two lines",
        "b": "the second",
    }


@pytest.mark.parametrize(
    "source",
    [
        "/** D. */ function f() {}",
        "/** D. */ const f = () => 1",
        "/** D. */ export const f = async function () {}",
        "/** D. */ export function f() {}\nfunction g() {}",
        "function g() {}\n/** D. */ function f() {}",
    ],
)
def test_the_function_is_the_last_exported_one_else_the_last(source: str) -> None:
    assert derive_schema(source, "typescript")["name"] == "f"
    assert function_name(source, "typescript") == "f"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "defines no function"),
        ("function a(x: string { return }", r"\) is missing \(line 1, column 21\)"),
        ("é = `unfinished\nfunction x", r"near '`' \(line 1, column 5\)"),
        ("function f() {}", r"needs a comment .* \(line 1, column 1\)"),
        ("/** D. */ function f(a) {}", r"parameter a needs a type \(line 1, column 22\)"),
        ("/** D. */ function f(a: any) {}", r"'any': JSON has no such type; .* \(line 1, column 25\)"),
        ("/** D. */ function f(a: Map<string, string>) {}", "JSON has no such type"),
        ("/** D. */ function f(a: Unknown) {}", "JSON has no such type"),
        ("/** D. */ function f(a: string | number) {}", "one type, beside null and undefined"),
        ("/** D. */ function f(a?: string, b: number) {}", "b is required, so it must stand before"),
        ("/** D. */ function f({ a }: { a: string }) {}", "name each parameter"),
        ("/** D. */ function f(...a: string[]) {}", "name each parameter"),
        ("interface A { a: A }\n/** D. */ function f(a: A) {}", "contains itself"),
        ("interface A extends B { a: string }\n/** D. */ function f(a: A) {}", "write its properties"),
        ("interface A<T> { a: string }\n/** D. */ function f(a: A) {}", "type with parameters"),
        ("enum A { B }\n/** D. */ function f(a: A) {}", "needs a value"),
        ("/** D. */ function f(a: { [key: string]: number }) {}", "named properties"),
        (f"/** D. */ function {'x' * 49}() {{}}", "at most 48 characters"),
    ],
)
def test_what_cannot_be_described_is_refused_with_its_place(source: str, why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        derive_schema(source, "typescript")


def test_types_that_grow_without_end_are_refused() -> None:
    grown = "\n".join(f"type T{n} = {{ {'; '.join(f'p{m}: T{n - 1}' for m in range(8))} }};" for n in range(1, 13))
    with pytest.raises(InvalidToolSource, match="too large"):
        parameters("a: T12", f"type T0 = string;\n{grown}\n")


@pytest.mark.parametrize("piece", ["(", "{", "<", "x`${", "f(a=>", "/**", "a|", "[", "interface A{a:", "enum ", "'", "@"])
def test_a_hostile_source_is_an_error_and_nothing_else(piece: str) -> None:
    source = (piece * LARGEST_SOURCE)[: LARGEST_SOURCE // 4]
    with pytest.raises(InvalidArgument):
        derive_schema(source, "typescript")
    with pytest.raises(InvalidArgument):
        derive_schema(f"/** D. */ function f(a: {source}) {{}}", "typescript")


@given(st.text(alphabet="/**abf(){}[]:;,|<>=.'\"`$\\ \n@0Ωfunctioexpr"))
def test_any_text_has_a_schema_or_is_refused(text: str) -> None:
    for source in (text, f"/** D. */ export function f({text}) {{}}"):
        with suppress(InvalidArgument):
            assert derive_schema(source, "typescript")["parameters"]["type"] == "object"


def test_a_schema_of_the_callers_needs_a_function_of_its_name() -> None:
    check("function g() {}\nfunction f() {}", "typescript", "g")
    with pytest.raises(InvalidToolSource, match="no function called h"):
        check("function f() {}", "typescript", "h")
    given_args: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    schema = schema_from_args("/** Says it. */ function f(a: any) {}", "typescript", given_args)
    assert (schema["name"], schema["description"], schema["parameters"]["required"]) == ("f", "Says it.", ["a"])


def test_the_first_error_of_a_long_source_has_its_place() -> None:
    long = "/** D. */\nexport function f(a: string): string { return a }\n" * 600
    assert function_name(long, "typescript") == "f"
    with pytest.raises(InvalidToolSource, match=r"near 'é c;.*\(line 1202, column 11\)"):
        derive_schema(f"{long}\nlet b =\té é c;\n{long}", "typescript")
