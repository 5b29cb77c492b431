"""A VPC for functions, and for the domain that they use; optional, because its NAT gateway is charged by the hour.

The table and the bucket are reached through free gateway endpoints; model providers and other AWS services through one NAT
gateway. A VPC that exists already keeps its own ways out.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_opensearchservice as opensearch
from constructs import Construct

from infra.constructs.findings import ANYTHING, Grant, accept
from infra.network_settings import Vpc

HTTPS = 443
_INTERFACES = ("CreateNetworkInterface", "DeleteNetworkInterface", "DescribeNetworkInterfaces", "DescribeSubnets")
_ADDRESSES = ("AssignPrivateIpAddresses", "UnassignPrivateIpAddresses")
ENTRY = tuple(f"ec2:{name}" for name in (*_INTERFACES, *_ADDRESSES))
"""The calls by which Lambda places a function in a VPC; it makes them with the function's role."""


def entry() -> Grant:
    """The permissions that Lambda needs in a function's role to place it in a VPC."""
    reason = "Lambda makes its network interfaces under names of its own."
    return Grant(iam.PolicyStatement(actions=list(ENTRY), resources=["*"]), ANYTHING, reason)


class Network(Construct):
    """The VPC with its subnets, endpoints and security groups, or a VPC that exists already."""

    def __init__(self, scope: Construct, id: str, *, settings: Vpc, zones: int) -> None:
        """`zones`: the number of availability zones of the domain; a VPC of the stack has at least two."""
        super().__init__(scope, id)
        self.vpc = self._existing(settings) if settings.foreign else self._own(zones)
        self.functions = [
            ec2.SecurityGroup.from_security_group_id(self, f"Group{place}", group, mutable=False)
            for place, group in enumerate(settings.security_groups)
        ] or [ec2.SecurityGroup(self, "Functions", vpc=self.vpc, description="Functions that speak with the memory index")]

    def _existing(self, settings: Vpc) -> ec2.IVpc:
        # The zones' names matter to nothing here; there must be as many as subnets.
        zones = [f"zone-{place}" for place in range(len(settings.subnets))]
        return ec2.Vpc.from_vpc_attributes(
            self, "Vpc", vpc_id=settings.id, availability_zones=zones, private_subnet_ids=list(settings.subnets)
        )

    def _own(self, zones: int) -> ec2.Vpc:
        vpc = ec2.Vpc(
            self,
            "Vpc",
            # Zones by their index in the region's list: without an account the CDK supports two zones only.
            availability_zones=[cdk.Fn.select(place, cdk.Fn.get_azs()) for place in range(max(zones, 2))],
            nat_gateways=1,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="Out", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=28),
                ec2.SubnetConfiguration(name="Functions", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=20),
            ],
            gateway_endpoints={
                "Table": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.DYNAMODB),
                "Bucket": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3),
            },
        )
        accept(vpc, "VPC7", "Only our functions and their index are in it; a log of every connection costs more than it tells.")
        return vpc

    def for_the_domain(self, zones: int) -> opensearch.CfnDomain.VPCOptionsProperty:
        """The subnets and the security group of a domain in this many availability zones."""
        group = ec2.SecurityGroup(
            self, "Domain", vpc=self.vpc, allow_all_outbound=False, description="The memory index: HTTPS from our functions"
        )
        for functions in self.functions:
            group.add_ingress_rule(functions, ec2.Port.tcp(HTTPS))
        subnets = [subnet.subnet_id for subnet in self.vpc.private_subnets[:zones]]
        return opensearch.CfnDomain.VPCOptionsProperty(subnet_ids=subnets, security_group_ids=[group.security_group_id])
