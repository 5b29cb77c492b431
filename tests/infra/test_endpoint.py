"""Who reaches the API and by which name: custom domain, web ACL, private endpoint."""

from __future__ import annotations

from typing import Any

import pytest

from infra.constructs.web_acl import COUNTED
from infra.endpoint_settings import check_endpoint_region
from infra.settings import settings_in
from tests.infra.conftest import CERTIFICATE, OWN_WEB_ACL
from tests.infra.reading import Template, texts

REST = "AWS::ApiGateway::RestApi"
ENDPOINTS = ["vpce-0123456789abcdef0", "vpce-0123456789abcdef1"]
BODY_RULES = {"SizeRestrictions_BODY", "EC2MetaDataSSRF_BODY", "GenericLFI_BODY", "GenericRFI_BODY", "CrossSiteScripting_BODY"}
"""Every rule of AWS's common rules that looks at bodies (WAF developer guide, "Core rule set (CRS) managed rule group")."""


def hosts(template: Template, function: str) -> str:
    return "".join(texts(template.functions()[function]["Environment"]["Variables"]["HIBERNAUT_ALLOWED_HOSTS"]))


def test_a_domain_maps_to_the_stage_by_modern_tls_alone(walled: Template) -> None:
    name = walled.only("AWS::ApiGateway::DomainName")["Properties"]
    assert (name["DomainName"], name["RegionalCertificateArn"]) == ("api.example.com", CERTIFICATE)
    assert (name["SecurityPolicy"], name["EndpointConfiguration"]) == ("TLS_1_2", {"Types": ["REGIONAL"]})
    mapping = walled.only("AWS::ApiGateway::BasePathMapping")["Properties"]
    assert "BasePath" not in mapping
    assert walled.resources[mapping["Stage"]["Ref"]]["Type"] == "AWS::ApiGateway::Stage"


def test_the_functions_answer_to_the_domain_and_the_outputs_name_it(walled: Template) -> None:
    assert all(hosts(walled, function).endswith(",api.example.com") for function in ("api", "stream"))
    assert walled.document["Outputs"]["ApiUrl"]["Value"] == "https://api.example.com/"
    assert "RegionalDomainName" in str(walled.document["Outputs"]["DomainTarget"])


def test_route_53_knows_the_name_in_the_zone_that_is_given(walled: Template) -> None:
    records = [each["Properties"] for each in walled.of_type("AWS::Route53::RecordSet").values()]
    assert {record["Type"] for record in records} == {"A", "AAAA"}
    assert {(record["Name"], record["HostedZoneId"]) for record in records} == {("api.example.com", "Z0123456789ABC")}


def test_the_gateway_s_own_name_can_be_switched_off(walled: Template, dev: Template) -> None:
    assert walled.only(REST)["Properties"]["DisableExecuteApiEndpoint"] is True
    assert "DisableExecuteApiEndpoint" not in dev.only(REST)["Properties"]


def rules_of(template: Template) -> dict[str, Any]:
    return {rule["Name"]: rule for rule in template.only("AWS::WAFv2::WebACL")["Properties"]["Rules"]}


def test_no_rule_of_the_web_acl_blocks_a_body(walled: Template) -> None:
    common = rules_of(walled)["common"]["Statement"]["ManagedRuleGroupStatement"]
    counted = {rule["Name"] for rule in common["RuleActionOverrides"] if rule["ActionToUse"] == {"Count": {}}}
    assert counted == set(COUNTED)
    assert counted >= BODY_RULES
    assert (common["VendorName"], common["Name"]) == ("AWS", "AWSManagedRulesCommonRuleSet")


def test_one_address_gets_half_of_the_stage_s_rate(walled: Template) -> None:
    limit = rules_of(walled)["requests-of-one-address"]
    assert limit["Statement"]["RateBasedStatement"] == {
        "AggregateKeyType": "IP",
        "Limit": 50 * 300 // 2,
        "EvaluationWindowSec": 300,
    }
    assert limit["Action"] == {"Block": {}}


def test_the_web_acl_samples_no_request_because_a_sample_shows_the_key(walled: Template) -> None:
    acl = walled.only("AWS::WAFv2::WebACL")["Properties"]
    for one in (acl, *acl["Rules"]):
        assert one["VisibilityConfig"]["SampledRequestsEnabled"] is False


def test_a_web_acl_stands_before_the_stage(walled: Template, large: Template, dev: Template) -> None:
    for template in (walled, large):
        association = template.only("AWS::WAFv2::WebACLAssociation")["Properties"]
        assert "/stages/" in "".join(texts(association["ResourceArn"]))
    assert large.only("AWS::WAFv2::WebACLAssociation")["Properties"]["WebACLArn"] == OWN_WEB_ACL
    assert large.of_type("AWS::WAFv2::WebACL") == dev.of_type("AWS::WAFv2::WebACLAssociation") == {}


def test_a_private_api_is_reached_through_its_vpc_endpoints_alone(large: Template) -> None:
    made = large.only(REST)["Properties"]
    assert made["EndpointConfiguration"] == {"Types": ["PRIVATE"], "VpcEndpointIds": ENDPOINTS}
    (deny,) = (statement for statement in made["Policy"]["Statement"] if statement["Effect"] == "Deny")
    assert deny["Condition"] == {"StringNotEquals": {"aws:SourceVpce": ENDPOINTS}}
    assert all(f"-{endpoint}.execute-api." in hosts(large, "api") for endpoint in ENDPOINTS)


PRIVATE = {"endpoint": "private", "vpcEndpoints": ENDPOINTS[0]}
NAMED = {"domain": "api.example.com", "certificate": CERTIFICATE}


@pytest.mark.parametrize(
    ("context", "why"),
    [
        ({"domain": "api.example.com"}, "domain and certificate belong together"),
        ({"certificate": CERTIFICATE}, "domain and certificate belong together"),
        ({**NAMED, "domain": "https://api.example.com"}, "domain must be a name like api.example.com, not 'https"),
        ({**NAMED, "domain": "*.example.com"}, "domain must be a name"),
        ({**NAMED, "certificate": "arn:aws:iam::123456789012:server-certificate/x"}, "certificate must be a certificate's ARN"),
        ({**NAMED, "hostedZone": "example.com"}, "hostedZone must be the id of a hosted zone"),
        ({"hostedZone": "Z0123456789ABC"}, "hostedZone needs domain"),
        ({"defaultEndpoint": "disabled"}, "defaultEndpoint=disabled needs domain"),
        ({**NAMED, "defaultEndpoint": "off"}, "defaultEndpoint must be enabled or disabled, not 'off'"),
        ({"endpoint": "private"}, "endpoint=private and vpcEndpoints belong together"),
        ({"vpcEndpoints": ENDPOINTS[0]}, "endpoint=private and vpcEndpoints belong together"),
        ({**PRIVATE, "vpcEndpoints": "vpc-0123456789abcdef0"}, "vpcEndpoints must be ids of interface endpoints"),
        ({**PRIVATE, "access": "public"}, "endpoint=private admits its VPC endpoints alone"),
        ({**PRIVATE, "callers": "10.0.0.0/8"}, "endpoint=private admits its VPC endpoints alone"),
        ({**PRIVATE, **NAMED}, "endpoint=private has no custom domain"),
        ({"access": "public", "callers": "10.0.0.0/8"}, "access=public admits every address"),
        ({"endpoint": "edge"}, "endpoint must be regional or private, not 'edge'"),
        ({"waf": "yes"}, "waf must be true, false or a regional web ACL's ARN"),
        ({"waf": OWN_WEB_ACL.replace("regional", "global")}, "waf must be true, false or a regional web ACL's ARN"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_by_name(context: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("*", r"\*")):
        settings_in(context)


def test_certificate_and_web_acl_are_of_the_stack_s_region() -> None:
    endpoint = settings_in({**NAMED, "waf": OWN_WEB_ACL}).endpoint
    check_endpoint_region(endpoint, "eu-central-1")
    check_endpoint_region(endpoint, None)
    with pytest.raises(
        ValueError, match="certificate is in eu-central-1, but a regional API needs one in the stack's region, us-east-1"
    ):
        check_endpoint_region(endpoint, "us-east-1")
