"""The functions in a network by setting, and the tags by which costs are told apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.network_settings import Vpc
from infra.settings import settings_in
from infra.tag_settings import MOST_TAGS
from tests.infra.reading import Template

VPC, SUBNETS = "vpc-0123456789abcdef0", ("subnet-0123456789abcdef0", "subnet-0123456789abcdef1")


def test_all_functions_but_the_sandbox_are_in_the_network_that_is_named(walled: Template) -> None:
    (group,) = (name for name, each in walled.of_type("AWS::EC2::SecurityGroup").items())
    assert walled.resources[group]["Properties"]["VpcId"] == VPC
    assert "SecurityGroupIngress" not in walled.resources[group]["Properties"]
    inside = {"SubnetIds": list(SUBNETS), "SecurityGroupIds": [{"Fn::GetAtt": [group, "GroupId"]}]}
    places = {name: made.get("VpcConfig") for name, made in walled.functions().items()}
    assert places == {**dict.fromkeys(places, inside), "run_tool": None, "run_node": None}
    assert walled.of_type("AWS::EC2::VPC") == {}


def test_each_function_in_a_network_may_have_its_interfaces_made(walled: Template) -> None:
    for name in set(walled.functions()) - {"run_tool", "run_node"}:
        statements = walled.statements(walled.role_of(name))
        assert any("ec2:CreateNetworkInterface" in statement["Action"] for statement in statements)


@pytest.mark.parametrize(
    ("context", "why"),
    [
        ({"vpc": "mine"}, "vpc must be ids like vpc-0123456789abcdef0 or stack, not 'mine'"),
        ({"vpc": VPC}, f"vpc={VPC} needs subnets"),
        ({"subnets": SUBNETS[0]}, "subnets and securityGroups belong to vpc=vpc-"),
        ({"vpc": "stack", "subnets": SUBNETS[0]}, "subnets and securityGroups belong to vpc=vpc-"),
        ({"vpc": VPC, "subnets": "eu-central-1a"}, "subnets must be ids like subnet-0123456789abcdef0, not"),
        ({"vpc": VPC, "subnets": SUBNETS[0], "securityGroups": "default"}, "securityGroups must be ids like sg-"),
        (
            {"vpc": VPC, "subnets": SUBNETS[0], "search": "domain", "searchVpc": "true", "searchCount": "2"},
            "searchCount=2 spreads over 2 zones; name a subnet in each of them",
        ),
    ],
)
def test_a_network_that_cannot_be_meant_is_refused_by_name(context: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        settings_in(context)


def test_unless_it_is_asked_for_functions_are_in_no_network() -> None:
    assert settings_in({}).vpc == Vpc()


def test_the_stack_carries_the_tags_of_the_setting(checked: Path, checked_walls: Path) -> None:
    def tags(template: Path) -> object:
        artifacts = json.loads(template.with_name("manifest.json").read_text(encoding="utf-8"))["artifacts"]
        return artifacts[template.name.partition(".")[0]]["properties"]["tags"]

    assert tags(checked) == {"Application": "hibernaut", "Environment": "prod"}
    assert tags(checked_walls) == {"Application": "hibernaut", "Environment": "trial", "team": "search"}


@pytest.mark.parametrize(
    ("tags", "why"),
    [
        ("team", "tags must be pairs like team=search,cost-centre=42"),
        ("=search", "tags must be pairs"),
        ("aws:team=search", "tags must be pairs"),
        ("AWS:team=search", "tags must be pairs"),
        (f"{'x' * 129}=search", "tags must be pairs"),
        (f"team={'x' * 257}", "tags must be pairs"),
        ("team=<search>", "tags must be pairs"),
        ("team=a,team=b", "tags names 'team' twice"),
        (",".join(f"t{number}=x" for number in range(MOST_TAGS + 1)), f"tags may be {MOST_TAGS}, not {MOST_TAGS + 1}"),
    ],
)
def test_tags_that_aws_would_refuse_are_refused_by_name(tags: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        settings_in({"tags": tags})
