"""The template's loader: what it understands, and that it says so where it does not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from moto import mock_aws

from hibernaut.local.aws_offline.environment import Disagreement, union
from hibernaut.local.aws_offline.intrinsics import Intrinsics, UnknownFunction
from hibernaut.local.aws_offline.resources import MAKERS, NOT_LOADED, UnknownResource
from hibernaut.local.aws_offline.stack import Stack
from hibernaut.local.aws_offline.template import SOURCES, NotACheckout, cached_template, checkout
from hibernaut.schemas.base import Json
from tests.infra.reading import Template

ATTRIBUTES = {"Table.Arn": "arn:table"}
FUNCTIONS = Intrinsics(lambda name: f"ref-{name}", lambda name, attribute: ATTRIBUTES[f"{name}.{attribute}"])


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"Ref": "A"}, "ref-A"),
        ({"Fn::GetAtt": ["Table", "Arn"]}, "arn:table"),
        ({"Fn::GetAtt": "Table.Arn"}, "arn:table"),
        ({"Fn::Join": ["/", ["a", {"Ref": "A"}]]}, "a/ref-A"),
        ({"Fn::Select": [1, {"Fn::Split": ["/", "a/b"]}]}, "b"),
        ({"Fn::Sub": "x-${A}-${Table.Arn}"}, "x-ref-A-arn:table"),
        ({"Fn::Sub": ["x-${own}", {"own": {"Ref": "A"}}]}, "x-ref-A"),
        ({"a": {"Ref": "AWS::NoValue"}, "b": [{"Ref": "AWS::NoValue"}, 1]}, {"b": [1]}),
        ({"Ref": "A", "other": 1}, {"Ref": "A", "other": 1}),
    ],
)
def test_functions_of_a_template_are_worked_out(written: Json, meant: Json) -> None:
    assert FUNCTIONS.resolve(written) == meant


def test_a_function_that_is_not_known_is_not_guessed() -> None:
    with pytest.raises(UnknownFunction, match="Fn::Transform"):
        FUNCTIONS.resolve({"a": {"Fn::Transform": {}}})


def test_a_resource_that_is_not_known_is_not_left_out() -> None:
    template = {"Resources": {"Odd": {"Type": "AWS::Odd::Thing"}}, "Outputs": {}}
    with pytest.raises(UnknownResource, match="Odd is a AWS::Odd::Thing"):
        Stack(template, "stack")


def test_every_type_of_the_template_is_made_or_left_out_with_a_reason(dev: Template) -> None:
    types = {resource["Type"] for resource in dev.resources.values()}
    assert types == set(MAKERS) | set(NOT_LOADED)


def test_the_whole_template_loads_and_its_outputs_name_what_was_made(dev: Template) -> None:
    with mock_aws():
        outputs = Stack(dev.document, "hibernaut-dev").outputs
        import boto3

        assert boto3.client("dynamodb", region_name="us-east-1").list_tables()["TableNames"] == [outputs["TableName"]]


def test_variables_on_which_functions_disagree_are_refused() -> None:
    assert union([{"A": "1"}, {"A": "1", "B": "2"}]) == {"A": "1", "B": "2"}
    with pytest.raises(Disagreement):
        union([{"A": "1"}, {"A": "2"}])


def source_of(module: str) -> str:
    """The file of a module, relative to the checkout."""
    place = f"shared/{module.replace('.', '/')}"
    return f"{place}/__init__.py" if (checkout() / place).is_dir() else f"{place}.py"


def test_the_sources_of_the_template_are_what_the_infrastructure_imports() -> None:
    imported = {
        source_of(node.module)
        for file in (checkout() / "infra").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hibernaut.")
    }
    assert imported == set(SOURCES) - {"infra"}


def test_a_changed_source_has_another_template(tmp_path: Path) -> None:
    for source in (
        "infra/app.py",
        "shared/hibernaut/adapters/table/definition.py",
        "shared/hibernaut/ports/storage/table.py",
        "shared/hibernaut/wiring/settings.py",
    ):
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / source).write_text("one")
    before = cached_template(tmp_path)
    (tmp_path / "infra" / "app.py").write_text("two")
    assert cached_template(tmp_path) != before


def test_without_a_checkout_the_profile_says_what_it_needs(tmp_path: Path) -> None:
    assert "needs a checkout" in str(NotACheckout(tmp_path))
