"""The role with sessions that reach the keys of one tenant, and the remaining permissions of the functions that assume it.

A function names the tenant in a tag of the session (`adapters/tenant_sessions.py`), and the tag limits the permissions:
`dynamodb:LeadingKeys` for the partitions of the table and of its indexes, name prefixes for objects. The functions' own roles
reach the partitions of no tenant, because these are read before the tenant of a request is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from hibernaut.adapters.tenant_sessions import TAG
from hibernaut.store.table.blob_keys import EPHEMERAL, FILES, RECORDS, TEXTS, UPLOADS
from infra.constructs.data_key import use_of
from infra.constructs.findings import Grant, give
from infra.constructs.functions import OurFunction
from infra.constructs.storage import Storage
from infra.settings import Settings

VARIABLE = "HIBERNAUT_TENANT_ROLE"
NARROWED = ("api", "stream", "advance_turn", "summarize", "request_approval", "close_run")
"""The functions that serve one tenant at a time. The sweep, the indexer and the reader of files go through the data of all
tenants.
"""
OF_NO_TENANT = ("APIKEY#*", "APIKEYS", "*#APIKEYS", "RATES", "RATE#*", "TENANTS")
"""The partitions that `store/access` reads and writes for every tenant: API keys and their lists, limits on requests, the
tenants.
"""
OWN = f"${{aws:PrincipalTag/{TAG}}}"


class TenantRole(Construct):
    """The role. `functions`: the functions that may assume it, each for one tenant at a time."""

    def __init__(
        self, scope: Construct, id: str, *, settings: Settings, storage: Storage, functions: Sequence[OurFunction]
    ) -> None:
        super().__init__(scope, id)
        named = {
            "StringLike": {f"aws:RequestTag/{TAG}": "?*"},
            "ForAllValues:StringEquals": {"aws:TagKeys": [TAG]},
            "StringEquals": {"aws:PrincipalAccount": cdk.Aws.ACCOUNT_ID},
        }
        who = [iam.PrincipalWithConditions(iam.ArnPrincipal(one.role.role_arn), named).with_session_tags() for one in functions]
        role = iam.Role(self, "Role", assumed_by=iam.CompositePrincipal(*who))
        give(role, *storage.table_access((f"{OWN}#*",)), *self._objects(storage), *use_of(self, settings, "s3"))
        assume = iam.PolicyStatement(actions=["sts:AssumeRole", "sts:TagSession"], resources=[role.role_arn])
        for function in functions:
            function.allow(Grant(assume), *storage.table_access(OF_NO_TENANT, indexes=False))
            function.function.add_environment(VARIABLE, role.role_arn)

    @staticmethod
    def _objects(storage: Storage) -> list[Grant]:
        """The objects of the tenant, the bodies of the first versions included, which had no prefix."""
        return [storage.objects_access(f"{kind}{OWN}/*") for kind in (RECORDS, EPHEMERAL, FILES, UPLOADS, TEXTS, "")] + [
            storage.list_access()
        ]
