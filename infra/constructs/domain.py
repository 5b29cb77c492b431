"""The API's own name: a regional custom domain that maps to the stage, and optionally its records in Route 53."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_route53 as route53
from constructs import Construct

from infra.endpoint_settings import Endpoint


class ApiDomain(Construct):
    """The domain. `/v1/…` of it is `/v1/…` of the API: the name of the stage is no part of the path."""

    def __init__(self, scope: Construct, id: str, *, endpoint: Endpoint, rest: apigateway.RestApi) -> None:
        super().__init__(scope, id)
        self.url = f"https://{endpoint.domain}/"
        name = apigateway.DomainName(
            self,
            "Name",
            domain_name=endpoint.domain,
            certificate=acm.Certificate.from_certificate_arn(self, "Certificate", endpoint.certificate),
            endpoint_type=apigateway.EndpointType.REGIONAL,
            # At least TLS 1.2: older clients are refused.
            security_policy=apigateway.SecurityPolicy.TLS_1_2,
        )
        apigateway.BasePathMapping(self, "Mapping", domain_name=name, rest_api=rest, stage=rest.deployment_stage)
        target = route53.CfnRecordSet.AliasTargetProperty(
            dns_name=name.domain_name_alias_domain_name, hosted_zone_id=name.domain_name_alias_hosted_zone_id
        )
        for kind in ("A", "AAAA") if endpoint.zone else ():
            route53.CfnRecordSet(
                self, f"Record{kind}", hosted_zone_id=endpoint.zone, name=endpoint.domain, type=kind, alias_target=target
            )
        cdk.CfnOutput(cdk.Stack.of(self), "DomainTarget", value=name.domain_name_alias_domain_name)
