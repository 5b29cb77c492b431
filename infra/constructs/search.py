"""The OpenSearch domain for memory: its configuration and its access policy.

The table can restore its whole content. Every request must be signed by one of our roles: the domain's own policy names only
these roles, each with the paths that it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_opensearchservice as opensearch
from constructs import Construct

from hibernaut.wiring.engines.memory_index import PREFIX
from infra.constructs.data_key import data_key
from infra.constructs.findings import Grant, accept, arn_pattern
from infra.constructs.functions import OurFunction
from infra.constructs.network import Network
from infra.search_settings import zones_of
from infra.settings import Settings

ENGINE = "OpenSearch_2.19"
TLS = "Policy-Min-TLS-1-2-PFS-2023-10"


class MemoryDomain(Construct):
    """The domain. `writer` feeds the index, `readers` search it; the policy excludes all others."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: Settings,
        writer: OurFunction,
        readers: Sequence[OurFunction],
        network: Network | None,
    ) -> None:
        super().__init__(scope, id)
        self._name = settings.stack_name
        grants = {writer: self._writing(), **dict.fromkeys(readers, self._reading())}
        for function, granted in grants.items():
            function.allow(*granted)
        self.domain = _domain(self, settings, _policy(grants), network)
        self.address = f"https://{self.domain.attr_domain_endpoint}"
        accept(
            self.domain,
            "OS1",
            "A domain in a network of its own is a setting (searchVpc): its way out costs while all agents sleep.",
        )
        accept(
            self.domain,
            "OS3",
            "Our roles sign their requests, and the domain's policy names them alone: addresses of functions change.",
        )
        accept(
            self.domain,
            "OS4",
            "The index is derived: it is built again where it is lost, and masters of its own would triple its price.",
        )
        accept(self.domain, "OS7", "One instance is the usual one; two and more are spread over zones.")
        for kind in ("SEARCH", "INDEX"):
            accept(
                self.domain, f"OS9[LogExport::{kind}_SLOW_LOGS]", "Slow logs hold what is searched for, which no log of ours may."
            )

    def _reading(self) -> list[Grant]:
        """Searches, which name their index in the body, and the dimension of the vectors, which is in the mapping."""
        return [
            Grant(iam.PolicyStatement(actions=["es:ESHttpPost"], resources=[self._path("_msearch")])),
            self._within(["es:ESHttpGet"], f"{PREFIX}-*/_mapping"),
        ]

    def _writing(self) -> list[Grant]:
        return [self._within([f"es:ESHttp{verb}" for verb in ("Get", "Post", "Put", "Delete")], f"{PREFIX}-*")]

    def _within(self, actions: list[str], path: str) -> Grant:
        finding = arn_pattern(service="es", resource=f"domain/{self._name}/{path}")
        statement = iam.PolicyStatement(actions=actions, resources=[self._path(path)])
        return Grant(statement, finding, "Indices are named by the models that make their vectors; the domain is ours alone.")

    def _path(self, path: str) -> str:
        return cdk.Stack.of(self).format_arn(service="es", resource="domain", resource_name=f"{self._name}/{path}")


def _policy(grants: Mapping[OurFunction, Sequence[Grant]]) -> iam.PolicyDocument:
    """The permissions of the roles, repeated in the domain's own policy: it has no other callers."""
    document = iam.PolicyDocument()
    for function, granted in grants.items():
        for grant in granted:
            document.add_statements(
                iam.PolicyStatement(
                    principals=[iam.ArnPrincipal(function.role.role_arn)],
                    actions=grant.statement.actions,
                    resources=grant.statement.resources,
                )
            )
    return document


def _domain(scope: Construct, settings: Settings, policy: iam.PolicyDocument, network: Network | None) -> opensearch.CfnDomain:
    """The low-level construct, because the library's would add a function of its own to write the policy."""
    search, kind, key = settings.search, opensearch.CfnDomain, data_key(scope, settings)
    zones = zones_of(search.count)
    spread = kind.ZoneAwarenessConfigProperty(availability_zone_count=zones) if zones > 1 else None
    domain = kind(
        scope,
        "Domain",
        domain_name=settings.stack_name,
        engine_version=ENGINE,
        cluster_config=kind.ClusterConfigProperty(
            instance_type=search.instance,
            instance_count=search.count,
            zone_awareness_enabled=zones > 1,
            zone_awareness_config=spread,
        ),
        ebs_options=kind.EBSOptionsProperty(ebs_enabled=True, volume_type="gp3", volume_size=search.volume),
        encryption_at_rest_options=kind.EncryptionAtRestOptionsProperty(enabled=True, kms_key_id=key.key_id if key else None),
        node_to_node_encryption_options=kind.NodeToNodeEncryptionOptionsProperty(enabled=True),
        domain_endpoint_options=kind.DomainEndpointOptionsProperty(enforce_https=True, tls_security_policy=TLS),
        software_update_options=kind.SoftwareUpdateOptionsProperty(auto_software_update_enabled=True),
        access_policies=policy,
        vpc_options=network.for_the_domain(zones) if network else None,
    )
    domain.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
    domain.cfn_options.update_policy = cdk.CfnUpdatePolicy(enable_version_upgrade=True)
    return domain
