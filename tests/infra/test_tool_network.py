"""The network of custom tools: closed unless it is opened, and what passes although it is closed."""

from __future__ import annotations

from typing import Any

import pytest

from infra.constructs.network import ENTRY
from infra.settings import settings_in
from tests.infra.reading import Template, listed, texts

TOOLS = ("run_tool", "run_node")
PRIVATE = {"endpoint": "private", "vpcEndpoints": "vpce-0123456789abcdef0"}


@pytest.fixture(params=["prod", "large"])
def closed(request: pytest.FixtureRequest) -> Template:
    """Templates that say nothing of it: one without any other network, and one with a network of the index."""
    template: Template = request.getfixturevalue(request.param)
    return template


def of_tools(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    """Resources of the closed network."""
    return {name: made["Properties"] for name, made in template.of_type(kind).items() if name.startswith("ToolNetwork")}


def test_tools_are_in_a_network_where_nothing_else_is(closed: Template) -> None:
    subnets = set(of_tools(closed, "AWS::EC2::Subnet"))
    assert len(subnets) == 2
    inside = {
        name: {one["Ref"] for one in made["VpcConfig"]["SubnetIds"]}
        for name, made in closed.functions().items()
        if subnets & set(texts(made.get("VpcConfig", {}).get("SubnetIds")))
    }
    assert inside == dict.fromkeys(TOOLS, subnets)


def test_no_route_leads_out_of_it(closed: Template) -> None:
    tables = set(of_tools(closed, "AWS::EC2::RouteTable"))
    routes = [made["Properties"]["RouteTableId"] for made in closed.of_type("AWS::EC2::Route").values()]
    assert tables
    assert not tables & {text for route in routes for text in texts(route)}
    for kind in ("InternetGateway", "NatGateway", "EgressOnlyInternetGateway", "VPCPeeringConnection"):
        assert not of_tools(closed, f"AWS::EC2::{kind}")


def test_only_packages_pass_its_one_endpoint(closed: Template) -> None:
    (endpoint,) = of_tools(closed, "AWS::EC2::VPCEndpoint").values()
    assert endpoint["VpcEndpointType"] == "Gateway"
    assert {one["Ref"] for one in endpoint["RouteTableIds"]} == set(of_tools(closed, "AWS::EC2::RouteTable"))
    assert "".join(texts(endpoint["ServiceName"])).endswith(".s3")
    (statement,) = endpoint["PolicyDocument"]["Statement"]
    (bucket,) = closed.of_type("AWS::S3::Bucket")
    assert (statement["Effect"], statement["Action"]) == ("Allow", "s3:GetObject")
    assert statement["Resource"] == {"Fn::Join": ["", [{"Fn::GetAtt": [bucket, "Arn"]}, "/tool_packages/*"]]}


def test_only_https_leaves_a_tool_and_nothing_enters(closed: Template) -> None:
    (group,) = of_tools(closed, "AWS::EC2::SecurityGroup").values()
    (rule,) = group["SecurityGroupEgress"]
    assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == ("tcp", 443, 443)
    assert "SecurityGroupIngress" not in group


def test_the_bucket_alone_has_a_name_in_it(closed: Template) -> None:
    lists = of_tools(closed, "AWS::Route53Resolver::FirewallDomainList")
    (rules,) = of_tools(closed, "AWS::Route53Resolver::FirewallRuleGroup").values()
    told = [
        (rule["Action"], rule.get("BlockResponse"), lists[rule["FirewallDomainListId"]["Fn::GetAtt"][0]]["Domains"])
        for rule in sorted(rules["FirewallRules"], key=lambda rule: int(rule["Priority"]))
    ]
    (bucket,) = closed.of_type("AWS::S3::Bucket")
    assert told == [("ALLOW", None, [{"Fn::GetAtt": [bucket, "RegionalDomainName"]}]), ("BLOCK", "NXDOMAIN", ["*"])]
    (place,) = of_tools(closed, "AWS::Route53Resolver::FirewallRuleGroupAssociation").values()
    (vpc,) = of_tools(closed, "AWS::EC2::VPC")
    assert place["VpcId"] == {"Ref": vpc}


@pytest.mark.parametrize("name", TOOLS)
def test_the_role_lets_lambda_place_the_function_and_its_code_do_nothing(closed: Template, name: str) -> None:
    statements = closed.statements(closed.role_of(name))
    denied = [one for one in statements if one["Effect"] == "Deny"]
    allowed = [one for one in statements if one["Effect"] == "Allow"]
    assert {"Effect": "Deny", "NotAction": list(ENTRY), "Resource": "*"} in denied
    of_the_code = {"Null": {"lambda:SourceFunctionArn": "false"}}
    assert {"Effect": "Deny", "Action": "*", "Resource": "*", "Condition": of_the_code} in denied
    assert {action for one in allowed for action in listed(one["Action"])} == set(ENTRY)


@pytest.mark.parametrize("name", TOOLS)
def test_an_open_network_is_lambda_s_own(walled: Template, name: str) -> None:
    assert "VpcConfig" not in walled.functions()[name]
    assert walled.statements(walled.role_of(name)) == [{"Action": "*", "Effect": "Deny", "Resource": "*"}]
    assert not of_tools(walled, "AWS::EC2::VPC")


@pytest.mark.parametrize(
    ("context", "reached"),
    [
        ({"access": "public", "toolNetwork": "open"}, True),
        ({"access": "public"}, False),
        ({"toolNetwork": "open"}, False),
        ({"callers": "203.0.113.0/24", "toolNetwork": "open"}, False),
        ({**PRIVATE, "toolNetwork": "open"}, False),
        ({}, False),
    ],
)
def test_a_tool_s_client_reaches_a_public_api_from_an_open_network(context: dict[str, str], reached: bool) -> None:
    assert settings_in(context).tools_call_the_api is reached


def test_who_runs_tools_is_told_of_the_api_where_their_client_reaches_it(
    walled: Template, prod: Template, large: Template, dev: Template
) -> None:
    def told(template: Template) -> dict[str, str]:
        variables = {name: made["Environment"]["Variables"] for name, made in template.functions().items()}
        return {name: each["HIBERNAUT_API_URL"] for name, each in variables.items() if "HIBERNAUT_API_URL" in each}

    assert told(walled) == dict.fromkeys(("api", "stream", "advance_turn"), "https://api.example.com")
    assert [told(template) for template in (prod, large, dev)] == [{}, {}, {}]


@pytest.mark.parametrize("kind", ["shut", "", "Closed"])
def test_a_network_of_tools_that_does_not_exist_is_refused_by_name(kind: str) -> None:
    with pytest.raises(ValueError, match=f"toolNetwork must be one of closed, open, not '{kind}'"):
        settings_in({"toolNetwork": kind})
