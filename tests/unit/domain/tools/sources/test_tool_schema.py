"""A tool's schema from its source, which is read and never run."""

from __future__ import annotations

from textwrap import dedent

import pytest

from hibernaut.domain.tools.sources.google_docstring import cleaned
from hibernaut.domain.tools.sources.tool_schema import derive_schema, function_name, schema_from_args
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument, InvalidToolSource

WEATHER = dedent('''
    import secret_module_that_does_not_exist
    from typing import List, Optional

    raise SystemExit("never run")

    def forecast(city: str, days: int = 3, units: Optional[str] = None) -> str:
        """
        Tell the weather of a city.

        Looks at the sky first. Note: it may be wrong.

        Args:
            city (str): Where to look,
                say: as a person would say it.
            days: How many days ahead.
            units (Optional[str]): Celsius: or not.

        Returns:
            str: The weather.

        Examples:
            forecast("Bern")
        """
        return city
''')


def with_annotation(annotation: str, before: str = "") -> str:
    return f'{before}\ndef tool(value: {annotation}):\n    """Do it.\n\n    Args:\n        value: The value.\n    """\n'


def schema_of(annotation: str, before: str = "") -> JsonObject:
    schema = derive_schema(with_annotation(annotation, dedent(before)))["parameters"]["properties"]["value"]
    assert schema.pop("description") == "The value."
    return dict(schema)


def test_a_schema_is_read_from_signature_and_docstring() -> None:
    assert derive_schema(WEATHER) == {
        "name": "forecast",
        "description": 'Tell the weather of a city.\n\nLooks at the sky first. Note: it may be wrong.\n\nExamples:\n    forecast("Bern")',
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where to look,\nsay: as a person would say it."},
                "days": {"type": "integer", "description": "How many days ahead."},
                "units": {"type": "string", "description": "Celsius: or not."},
            },
            "required": ["city"],
        },
    }


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("str", {"type": "string"}),
        ("int", {"type": "integer"}),
        ("float", {"type": "number"}),
        ("bool", {"type": "boolean"}),
        ("dict", {"type": "object"}),
        ("list", {"type": "array", "items": {"type": "string"}}),
        ("typing.List[int]", {"type": "array", "items": {"type": "integer"}}),
        ("list[list[float]]", {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
        ("Literal['a', 'b']", {"type": "string", "enum": ["a", "b"]}),
        ("Literal[1, 2]", {"type": "integer", "enum": [1, 2]}),
        (
            "Tuple[int, str]",
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        ("'List[str]'", {"type": "array", "items": {"type": "string"}}),
        ("Annotated[int, 'a note']", {"type": "integer"}),
    ],
)
def test_an_annotation_becomes_its_schema(annotation: str, schema: JsonObject) -> None:
    assert schema_of(annotation) == schema
    assert derive_schema(with_annotation(annotation))["parameters"]["required"] == ["value"]


@pytest.mark.parametrize("annotation", ["Optional[int]", "int | None", "Union[None, int]", "'int | None'", "Optional['int']"])
def test_an_optional_parameter_has_its_type_and_is_not_required(annotation: str) -> None:
    assert schema_of(annotation) == {"type": "integer"}
    assert derive_schema(with_annotation(annotation))["parameters"]["required"] == []


@pytest.mark.parametrize(
    "annotation",
    [
        "Dict[str, int]",
        "int | str",
        "Tuple[int, ...]",
        "Optional[Union[int, str]]",
        "Elsewhere",
        "None",
        "Any",
        "'a b'",
        "'Dict[str, int]'",
        "3",
        "Literal[1, 'a']",
    ],
)
def test_an_annotation_without_a_schema_is_refused_with_its_line(annotation: str) -> None:
    with pytest.raises(InvalidToolSource, match="cannot be described") as caught:
        derive_schema("\n\n" + with_annotation(annotation))
    assert caught.value.line == 4


MODELS = """
class Point(BaseModel):
    model_config = ConfigDict(extra="forbid")
    _hidden: int = 3
    kind: ClassVar[str] = "point"
    x: int = Field(..., description="Across.")
    y: Annotated[int, Field(description="Up.")] = 0

class Place(pydantic.BaseModel):
    name: str = Field(description="Its name.")
    where: Point = Field(description="Its point.")
    tags: List[str] = Field(default_factory=list, description="Its tags.")
    note: Optional[str] = Field(description="A note.")

class City(Place):
    name: str = Field(default="Bern", description="Its city name.")
"""


def test_models_of_the_source_are_written_inline() -> None:
    point = {
        "type": "object",
        "properties": {"x": {"type": "integer", "description": "Across."}, "y": {"type": "integer", "description": "Up."}},
        "required": ["x"],
    }
    place = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Its name."},
            "where": point | {"description": "Its point."},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "Its tags."},
            "note": {"type": "string", "description": "A note."},
        },
        "required": ["name", "where"],
    }
    assert schema_of("List[Place]", MODELS) == {"type": "array", "items": place}


def test_a_model_has_its_parents_fields_and_may_change_them() -> None:
    schema = schema_of("City", MODELS)
    assert list(schema["properties"]) == ["name", "where", "tags", "note"]
    assert schema["properties"]["name"]["description"] == "Its city name."
    assert schema["required"] == ["where"]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("class A(BaseModel):\n    x: int\n", "needs Field"),
        ("class A(BaseModel):\n    x: 'A' = Field(description='Itself.')\n", "contains itself"),
        ("class A:\n    x: int\n", "defined in the source"),
    ],
)
def test_a_model_that_cannot_be_described_is_refused_with_its_line(model: str, reason: str) -> None:
    with pytest.raises(InvalidToolSource, match=reason) as caught:
        derive_schema(with_annotation("A", model))
    assert caught.value.line


def test_models_that_would_fill_the_memory_when_written_inline_are_refused() -> None:
    doubling = "class M0(BaseModel):\n    x: int = Field(description='X.')\n" + "".join(
        f"class M{n}(BaseModel):\n" + "".join(f"    f{i}: M{n - 1} = Field(description='F.')\n" for i in range(10))
        for n in range(1, 30)
    )
    with pytest.raises(InvalidToolSource, match="too large"):
        derive_schema(with_annotation("M29", doubling))


@pytest.mark.parametrize(
    ("source", "reason", "line"),
    [
        ("def broken(:\n", r"not valid Python: .* \(line 1, column 1[12]\)", 1),
        ("x = 1\n", "no function", None),
        ('def f(x: int):\n    "Do."\n', "not described", 1),
        ('\ndef f(x):\n    """Do.\n\n    Args:\n        x: X.\n    """\n', "type annotation", 2),
        ("def f():\n    pass\n", "needs a docstring", 1),
        ('def f():\n    """Returns:\n        X.\n    """\n', "does not say", 1),
        ('def f(x: int):\n    """Do.\n\n    Args:\n        x without a colon\n    """\n', "Expected a colon", 1),
        ('def f(*args: int):\n    "Do."\n', "args", 1),
        ("x = '\0'\ndef f(): 'Do.'", "Python", None),
        ("x = '\ud800'\ndef f(): 'Do.'", "Python", None),
        pytest.param(with_annotation("int | " * 20_000 + "None"), "Python|nested", None, id="nested"),
    ],
)
def test_a_source_without_a_usable_function_is_refused_with_its_line(source: str, reason: str, line: int | None) -> None:
    with pytest.raises(InvalidToolSource, match=reason) as caught:
        derive_schema(source)
    assert line is None or caught.value.line == line


def test_the_last_top_level_function_is_the_tool() -> None:
    source = "def first():\n    'First.'\n\nasync def second():\n    'Second.'\n    def inner(): pass\n\nclass C:\n    def method(self): pass\n"
    assert function_name(source) == "second"
    assert derive_schema(source)["description"] == "Second."
    assert derive_schema(source, "first")["name"] == "first"
    with pytest.raises(InvalidToolSource, match="no function called third"):
        derive_schema(source, "third")


def test_what_a_function_returns_and_raises_is_not_part_of_its_description() -> None:
    source = 'def f():\n    """Do it.\n\n    Returns:\n        Something.\n\n    Raises:\n        E: It failed.\n    """\n'
    assert derive_schema(source)["description"] == "Do it."


@pytest.mark.parametrize("args", ["None", "", "no colon here"])
def test_a_function_without_parameters_may_say_so_in_any_words(args: str) -> None:
    assert derive_schema(f'def f():\n    """Do it.\n\n    Args:\n        {args}\n    """\n')["description"].startswith("Do it.")


def test_what_the_server_fills_in_is_not_asked_of_the_model() -> None:
    source = 'def f(self, agent_state, *, agent_id: str, x: int, y: int = 1):\n    """Do.\n\n    Args:\n        x: X.\n        y: Y.\n    """\n'
    parameters = derive_schema(source)["parameters"]
    assert list(parameters["properties"]) == ["x", "y"]
    assert parameters["required"] == ["x"]


def test_a_name_has_at_most_48_characters() -> None:
    assert derive_schema(f"def {'f' * 48}():\n    'Do.'\n")["name"] == "f" * 48
    with pytest.raises(InvalidArgument, match="48"):
        derive_schema(f"def {'f' * 49}():\n    'Do.'\n")


def test_parameters_can_be_described_by_the_caller() -> None:
    args = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/Point", "description": "Where."}},
        "required": ["at"],
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "integer"}}}},
    }
    assert schema_from_args("def go(at): pass\n", args) == {
        "name": "go",
        "description": "The go tool",
        "parameters": {
            "type": "object",
            "properties": {"at": {"type": "object", "properties": {"x": {"type": "integer"}}, "description": "Where."}},
            "required": ["at"],
        },
    }
    assert schema_from_args('def go(at):\n    "Go there."\n', args)["description"] == "Go there."


@pytest.mark.parametrize(
    "args",
    [
        {"type": "array"},
        {"properties": []},
        {"required": "x"},
        {"properties": {"a": {"$ref": "#/$defs/Unknown"}}},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
    ],
)
def test_an_args_schema_that_describes_no_arguments_is_refused(args: JsonObject) -> None:
    with pytest.raises(InvalidArgument, match="args_json_schema"):
        schema_from_args("def go(): pass\n", args)


@pytest.mark.parametrize("source", ["def go(a{}): pass", "def go(a: 'B{}'): 'Go.'"])
def test_a_source_with_many_marks_on_one_character_is_refused(source: str) -> None:
    assert function_name(source.format("\u0301" * 30)) == "go"
    with pytest.raises(InvalidToolSource, match="more than 30 combining marks on one character"):
        function_name(source.format("\u0301\u0315" * 16))


def test_a_docstring_keeps_at_most_100_blank_lines_in_a_row() -> None:
    for lines in (100, 101, 5_000):
        assert cleaned(f"Go.{chr(10) * (lines + 1)}On.") == f"Go.{chr(10) * 101}On."
