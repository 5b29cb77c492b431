"""Whatever a tool's source or its schemas say, they are read in bounded steps or refused by our own error."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hibernaut.domain.tools.sources.tool_annotations import AnnotationReader, models_of
from hibernaut.domain.tools.sources.tool_schema import Inliner, derive_schema, function_name, schema_from_args
from hibernaut.domain.tools.step_budget import StepBudget
from hibernaut.domain.tools.tool_arguments import MOST_STEPS, coerce
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.json_schema import LARGEST_SCHEMA, problem_of, size_problem_of, sound_parameters

LINE = st.text(st.characters(exclude_characters="\r\n"), max_size=12)
ODD = st.sampled_from([
    "{[]: 1}", "{{}}", "[]", "()", "{}", "...", "None", "-1", "1e999", "0x" + "f" * 5000, "'\\ud800'", "'\\0'", "b'x'", "f'{1}'",
    'f"{\'a\' + "\\n"}"', "*x", "lambda: 1", "x := 1", "yield", "'('", "'" + "-" * 9000 + "1'", "A", "B", "int", "str", "dict",
    "''", "'list['", "1j", "{**a}", "not x", "x.y[z]",
])  # fmt: skip
NAMES = st.sampled_from([
    "list", "List", "Literal", "Tuple", "tuple", "Optional", "Union", "Annotated", "dict", "Dict", "A", "B", "Field", "t.List",
    "BaseModel", "ClassVar", "int",
])  # fmt: skip
EXPRESSIONS = st.recursive(
    ODD | NAMES | LINE.map(repr),
    lambda inner: (
        st.builds("{}[{}]".format, NAMES, st.lists(inner, max_size=3).map(lambda parts: ", ".join(parts) or "()"))
        | st.builds("{} | {}".format, inner, inner)
        | st.builds("Field({}, description={})".format, inner, inner)
        | st.builds("Field(description={})".format, inner)
        | inner.map(repr)
    ),
    max_leaves=6,
)
TYPES = st.recursive(
    st.sampled_from(["int", "str", "dict", "list", "A", "Literal['a', 'b']", "Literal[1]"]),
    lambda inner: (
        st.builds("{}[{}]".format, st.sampled_from(["list", "Optional", "Sequence", "Tuple", "Annotated"]), inner)
        | st.builds("Tuple[{}, {}]".format, inner, inner)
        | inner.map("{} | None".format)
        | inner.map(repr)
    ),
    max_leaves=4,
)
DEFAULTS = st.sampled_from(["...", "None", "1", "default=2"]) | EXPRESSIONS
DESCRIPTIONS = LINE.map(lambda line: repr(f"D{line}")) | EXPRESSIONS
SOURCES = st.builds(
    "from x import y\n"
    "class A(BaseModel):\n    a: {} = Field({}, description={})\n    a: {} = Field(description='A')\n"
    "class B({}, A, A):\n    b: {} = Field({}, description='B')\n"
    'def tool(value: {}, other: {} = {}) -> {}:\n    """Do it. {}\n\n    Args:\n        value: V.\n        other: O. {}\n    """\n'.format,
    TYPES.map(lambda kind: kind.replace("A", "int")), DEFAULTS, DESCRIPTIONS, st.just("str") | EXPRESSIONS,
    NAMES, TYPES, DEFAULTS,
    TYPES | st.just("B"), TYPES | EXPRESSIONS, EXPRESSIONS, EXPRESSIONS, LINE, LINE,
)  # fmt: skip


def outcome_of(read: Callable[[], JsonObject]) -> tuple[JsonObject | None, str]:
    """What is read, or why it is refused."""
    try:
        return read(), ""
    except InvalidArgument as error:
        return None, error.detail


def size_of(value: Json) -> int:
    """Values in a value, itself among them."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return 1 + sum(size_of(each) for each in inner)


def with_types(annotation: str, classes: str = "") -> str:
    return f'{classes}\ndef tool(value: {annotation}):\n    """Do it.\n\n    Args:\n        value: The value.\n    """\n'


def described(value: str) -> str:
    return with_types("A", f"class A(BaseModel):\n    a: int = Field(description={value})\n")


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@given(SOURCES | st.text() | EXPRESSIONS.map(with_types))
@example(described("{[]: 1}"))
@example(described("{{}}"))
@example(with_types("list[()]"))
@example(with_types(f"Literal[0x{'f' * 5000}]"))
@example(with_types(f"Literal[{', '.join(str(number) for number in range(40_000))}]"))
@example(with_types("Literal['\\ud800']"))
@example(described("'half of a pair: \\ud800'"))
@example(with_types("int", '"' + "\\ud800" + '"'))
@example(with_types("'" + "-" * 9000 + "1'"))
def test_any_source_gives_a_schema_that_can_be_stored_and_offered_or_our_own_error(source: str) -> None:
    schema, refusal = outcome_of(lambda: derive_schema(source))
    assert len(refusal.encode()) < 2_000
    if schema is None:
        return
    assert json.dumps(schema, ensure_ascii=False).encode()
    assert sound_parameters(schema["parameters"]) is schema["parameters"]
    assert size_problem_of(schema) is None
    assert schema["name"] == function_name(source)


def diamonds(levels: int, heirs: int = 2) -> str:
    """Classes that inherit twice from the one before: as many paths to the first as two to the power of the levels."""
    first = "class C0(BaseModel):\n    x: int = Field(description='X.')\n"
    return first + "".join(f"class C{n}({', '.join([f'C{n - 1}'] * heirs)}): pass\n" for n in range(1, levels))


def test_a_class_that_is_inherited_by_many_paths_is_read_once() -> None:
    spent = []
    for levels in (10, 20, 40):
        tree = ast.parse(with_types(f"C{levels - 1}", diamonds(levels)))
        reader = AnnotationReader(models_of(tree), StepBudget(LARGEST_SCHEMA))
        assert reader.schema_of(ast.parse(f"C{levels - 1}", mode="eval").body)["required"] == ["x"]
        spent.append(reader.budget.spent)
    assert spent[2] - spent[1] == 2 * (spent[1] - spent[0])  # each level costs the same


def test_a_field_that_is_declared_twice_is_read_once() -> None:
    levels = 30
    classes = "class C0(BaseModel):\n    x: int = Field(description='X.')\n" + "".join(
        f"class C{n}(BaseModel):\n" + f"    x: C{n - 1} = Field(description='X.')\n" * 2 for n in range(1, levels)
    )
    tree = ast.parse(classes)
    reader = AnnotationReader(models_of(tree), StepBudget(LARGEST_SCHEMA))
    reader.schema_of(ast.parse(f"C{levels - 1}", mode="eval").body)
    assert reader.budget.spent < 100 * levels


@given(st.integers(2, 12), st.integers(1, 4), st.integers(1, 4))
def test_models_within_models_are_written_within_the_budget_or_refused(levels: int, fields: int, heirs: int) -> None:
    source = diamonds(2, heirs) + "".join(
        f"class M{n}({f'M{n - 1}' if n and n % 3 == 0 else 'BaseModel'}):\n"
        + "".join(f"    f{i}_{n}: {f'M{n - 1}' if n else 'C1'} = Field(description='F.')\n" for i in range(fields))
        for n in range(levels)
    )
    tree = ast.parse(source)
    reader = AnnotationReader(models_of(tree), StepBudget(LARGEST_SCHEMA))
    schema, refusal = outcome_of(lambda: reader.schema_of(ast.parse(f"M{levels - 1}", mode="eval").body))
    assert schema is not None or ("too large" in refusal and fields**levels > 1_000)
    assert len(json.dumps(schema)) <= reader.budget.spent * 2
    assert reader.budget.spent <= 2 * LARGEST_SCHEMA


def branching(levels: int, leaf: JsonObject, keyword: str = "anyOf") -> JsonObject:
    """Parameters whose `value` chooses twice between the same two references, at every level."""
    defs = {f"D{n}": {keyword: [{"$ref": f"#/$defs/D{n + 1}"}, {"$ref": f"#/$defs/D{n + 1}"}]} for n in range(levels)}
    return {
        "type": "object",
        "properties": {"value": {"$ref": "#/$defs/D0"}},
        "$defs": {**defs, f"D{levels}": leaf},
    }


@pytest.mark.parametrize("value", ["x", 1, None, ["x"], {"a": ["x"]}, '["x"]'])
def test_choices_between_references_are_tried_once_for_each_value(value: Json) -> None:
    spent = []
    for levels in (5, 10, 20):
        budget = StepBudget(MOST_STEPS)
        parameters = branching(levels, {"type": "array", "items": {"type": "integer"}, "minItems": 1})
        with pytest.raises(InvalidArgument, match="argument 'value"):
            coerce({"value": value}, {"parameters": {**parameters, "required": ["value"]}}, budget)
        spent.append(budget.spent)
    assert spent[2] < 100
    assert spent[2] - spent[1] == 2 * (spent[1] - spent[0])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3) | st.sampled_from(["abc", "object", "#/properties/a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KEYWORDS = st.sampled_from([
    "type", "properties", "required", "items", "prefixItems", "anyOf", "oneOf", "enum", "$ref", "$defs", "minItems", "maxItems",
    "description", "additionalProperties", "a",
])  # fmt: skip
SCHEMAS = st.recursive(
    JSON | st.sampled_from(["string", "integer", "array", "object"]).map(lambda kind: {"type": kind}),
    lambda inner: (
        st.dictionaries(KEYWORDS, inner, max_size=4)
        | st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), inner), "required": inner})
        | st.lists(inner, max_size=2).map(lambda choices: {"anyOf": choices})
    ),
    max_leaves=12,
)


SOUND_SCHEMAS = st.recursive(
    st.sampled_from(["string", "integer", "null"]).map(lambda kind: {"type": kind}) | st.just({"$ref": "#/properties/a"}),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=2).map(lambda choices: {"anyOf": choices})
        | inner.map(lambda items: {"type": "array", "items": items})
        | st.dictionaries(st.sampled_from("ab"), inner).map(lambda named: {"type": "object", "properties": named})
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from("abc"), JSON),
    st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), SCHEMAS), "required": SCHEMAS}),
)
def test_any_arguments_fit_any_schema_in_bounded_steps_or_are_refused(args: JsonObject, schema: JsonObject) -> None:
    budget = StepBudget(MOST_STEPS)
    fitted, refusal = outcome_of(lambda: coerce(args, {"parameters": schema}, budget))
    assert set(fitted or {}) <= set(args)
    assert len(refusal) < 1_000
    assert budget.spent <= size_of(args) * size_of(schema)  # a value meets a schema once


@given(
    SCHEMAS.filter(lambda schema: isinstance(schema, dict))
    | st.dictionaries(st.sampled_from("ab"), SOUND_SCHEMAS).map(lambda named: {"properties": named})
)
@example(branching(30, {"type": "string"}))
def test_any_args_schema_is_written_inline_within_the_budget_or_refused(schema: JsonObject) -> None:
    inliner = Inliner(schema, StepBudget(LARGEST_SCHEMA))
    tool, _ = outcome_of(lambda: schema_from_args("def go(): pass\n", schema))
    assert tool is None or problem_of(tool["parameters"]) is None
    outcome_of(lambda: {"properties": inliner.inlined(schema.get("properties"))})
    assert inliner.budget.spent <= 2 * LARGEST_SCHEMA
