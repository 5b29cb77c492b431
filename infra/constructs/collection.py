"""The vector collection of OpenSearch Serverless for memory: its group, which scales to nothing, and its three policies.

The table can restore its whole content. Every request must be signed by one of our roles: the data access policy names only these
roles, each with the permissions that it needs, and each role may ask this collection alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_opensearchserverless as aoss
from constructs import Construct

from hibernaut.wiring.engines.memory_index import PREFIX
from infra.constructs.data_key import data_key
from infra.constructs.findings import Grant
from infra.constructs.functions import OurFunction
from infra.settings import Settings

MOST_INDEXING, MOST_SEARCHING = 2, 4
"""OpenSearch compute units that the group may use at once: they bound the cost of an hour (`docs/costs.md`). Of few units there
may be 1, 2, 4 or 8 (Developer Guide, "Collection group capacity limits")."""
READING = ("aoss:DescribeIndex", "aoss:ReadDocument")
WRITING = (*READING, "aoss:CreateIndex", "aoss:UpdateIndex", "aoss:DeleteIndex", "aoss:WriteDocument")


class MemoryCollection(Construct):
    """The collection. `writer` feeds the index, `readers` search it; the policies exclude all others."""

    def __init__(
        self, scope: Construct, id: str, *, settings: Settings, writer: OurFunction, readers: Sequence[OurFunction]
    ) -> None:
        super().__init__(scope, id)
        self._settings, self._name = settings, settings.stack_name
        group = self._group()
        self.collection = aoss.CfnCollection(
            self,
            "Collection",
            name=self._name,
            type="VECTORSEARCH",
            collection_group_name=group.name,
            description="The index of Hibernaut's memory, derived from its table",
        )
        policies = (self._encryption(), self._network(), self._access({writer: WRITING, **dict.fromkeys(readers, READING)}))
        for needed in (group, *policies):
            self.collection.add_resource_dependency(needed)
        self.collection.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        self.address = self.collection.attr_collection_endpoint
        call = iam.PolicyStatement(actions=["aoss:APIAccessAll"], resources=[self.collection.attr_arn])
        for function in (writer, *readers):
            function.allow(Grant(call))

    def _group(self) -> aoss.CfnCollectionGroup:
        """NEXTGEN scales to nothing; it takes no group without standby replicas, which cost nothing while there is nothing to
        replicate.
        """
        group = aoss.CfnCollectionGroup(
            self,
            "Group",
            name=self._name,
            generation="NEXTGEN",
            standby_replicas="ENABLED",
            capacity_limits=aoss.CfnCollectionGroup.CapacityLimitsProperty(
                min_indexing_capacity_in_ocu=0,
                min_search_capacity_in_ocu=0,
                max_indexing_capacity_in_ocu=MOST_INDEXING,
                max_search_capacity_in_ocu=MOST_SEARCHING,
            ),
        )
        group.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        return group

    def _encryption(self) -> aoss.CfnSecurityPolicy:
        """With the key of the data, or one that AWS owns, which costs nothing."""
        key = data_key(self, self._settings)
        protected = {"AWSOwnedKey": False, "KmsARN": key.key_arn} if key else {"AWSOwnedKey": True}
        return self._security("encryption", {"Rules": [self._ours()], **protected})

    def _network(self) -> aoss.CfnSecurityPolicy:
        """Functions have no fixed addresses, so the endpoint is public and the signature decides. The dashboards are closed."""
        return self._security("network", [{"Rules": [self._ours()], "AllowFromPublic": True}])

    def _security(self, kind: str, policy: object) -> aoss.CfnSecurityPolicy:
        text = cdk.Stack.of(self).to_json_string(policy)
        return aoss.CfnSecurityPolicy(self, kind.title(), name=self._name, type=kind, policy=text)

    def _access(self, permissions: Mapping[OurFunction, Sequence[str]]) -> aoss.CfnAccessPolicy:
        """What each role may do with our indices, and with no others."""
        policy = [
            {
                "Rules": [
                    {
                        "ResourceType": "index",
                        "Resource": [f"index/{self._name}/{PREFIX}-*"],
                        "Permission": list(permitted),
                    }
                ],
                "Principal": [function.role.role_arn],
            }
            for function, permitted in permissions.items()
        ]
        text = cdk.Stack.of(self).to_json_string(policy)
        return aoss.CfnAccessPolicy(self, "Access", name=self._name, type="data", policy=text)

    def _ours(self) -> dict[str, object]:
        return {"ResourceType": "collection", "Resource": [f"collection/{self._name}"]}
