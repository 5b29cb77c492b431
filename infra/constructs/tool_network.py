"""The network of custom tools, unless the settings open it: a VPC without a way out, but to the packages of tools in the stack's
bucket.

The route table has no route to the internet. The gateway endpoint of S3 passes reads of packages alone, so that a tool with
credentials of its own reaches no other bucket. Names would be a way out as well, because the resolver of a VPC asks servers of
strangers: a firewall answers for the bucket's name, and refuses all others.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_route53resolver as resolver
from aws_cdk import aws_s3 as s3
from constructs import Construct

from hibernaut.store.table.blob_keys import PACKAGES
from infra.constructs.findings import accept
from infra.constructs.network import HTTPS

ZONES = 2


class ToolNetwork(Construct):
    """The VPC with its subnets, the endpoint, the security group and the firewall of names. Nothing of it is charged by the
    hour.
    """

    def __init__(self, scope: Construct, id: str, *, packages: s3.IBucket) -> None:
        """`packages`: the bucket with the zip files of packages."""
        super().__init__(scope, id)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr("10.0.0.0/20"),
            availability_zones=[cdk.Fn.select(place, cdk.Fn.get_azs()) for place in range(ZONES)],
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="Tools", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=22)
            ],
        )
        accept(self.vpc, "VPC7", "No packet leaves it but reads of packages, which the endpoint's policy names.")
        endpoint = self.vpc.add_gateway_endpoint("Packages", service=ec2.GatewayVpcEndpointAwsService.S3)
        endpoint.add_to_policy(
            iam.PolicyStatement(
                principals=[iam.AnyPrincipal()], actions=["s3:GetObject"], resources=[packages.arn_for_objects(f"{PACKAGES}*")]
            )
        )
        group = ec2.SecurityGroup(
            self,
            "Group",
            vpc=self.vpc,
            allow_all_outbound=False,
            description="Custom tools: HTTPS, for which S3 is the only route",
        )
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(HTTPS))
        self.functions: list[ec2.ISecurityGroup] = [group]
        self._answer_for(packages)

    def _answer_for(self, packages: s3.IBucket) -> None:
        """Let the resolver of the VPC know the bucket's name alone."""
        own = resolver.CfnFirewallDomainList(self, "Bucket", domains=[packages.bucket_regional_domain_name])
        every = resolver.CfnFirewallDomainList(self, "Everything", domains=["*"])
        rule = resolver.CfnFirewallRuleGroup.FirewallRuleProperty
        rules = resolver.CfnFirewallRuleGroup(
            self,
            "Names",
            firewall_rules=[
                rule(
                    priority=1,
                    action="ALLOW",
                    firewall_domain_list_id=own.attr_id,
                    # The bucket's name leads to names of S3's own.
                    firewall_domain_redirection_action="TRUST_REDIRECTION_DOMAIN",
                ),
                rule(priority=2, action="BLOCK", block_response="NXDOMAIN", firewall_domain_list_id=every.attr_id),
            ],
        )
        resolver.CfnFirewallRuleGroupAssociation(
            self, "NamesOfTools", firewall_rule_group_id=rules.attr_id, vpc_id=self.vpc.vpc_id, priority=101
        )
