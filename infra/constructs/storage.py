"""The storage: the table, and the bucket for bodies that are too large for it.

Knows: how both are protected. The adapter defines the table's schema.
"""

from __future__ import annotations

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from hibernaut.adapters.table.definition import TTL_ATTRIBUTE, index_name
from hibernaut.ports.storage.table import Index
from hibernaut.store.table.blob_keys import EPHEMERAL, EPHEMERAL_DAYS, PACKAGES, UPLOADS
from infra.constructs.data_key import data_key, use_of
from infra.constructs.findings import Grant, accept
from infra.settings import Settings

NONCURRENT_DAYS = 35
"""Days for which deleted objects stay, as long as the table can be restored (DynamoDB: 35 days). A run is a day old at most, so
bodies of runs need one day.
"""


class Storage(Construct):
    """The table and the bucket."""

    def __init__(self, scope: Construct, id: str, settings: Settings) -> None:
        super().__init__(scope, id)
        self._settings, key = settings, data_key(self, settings)
        keep = cdk.RemovalPolicy.RETAIN if settings.keep_data else cdk.RemovalPolicy.DESTROY
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=_text("pk"),
            sort_key=_text("sk"),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            time_to_live_attribute=TTL_ATTRIBUTE,
            stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(point_in_time_recovery_enabled=True),
            deletion_protection=settings.keep_data,
            encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED if key else None,
            encryption_key=key,
            removal_policy=keep,
        )
        for index in Index:
            self.table.add_global_secondary_index(
                index_name=index_name(index),
                partition_key=_text(f"{index}_pk"),
                sort_key=_text(f"{index}_sk"),
                projection_type=dynamodb.ProjectionType.KEYS_ONLY,
            )
        self.blobs = s3.Bucket(
            self,
            "Blobs",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            # One data key for many objects: KMS charges by the call.
            bucket_key_enabled=True if key else None,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            # A restore of the table to a moment needs the bodies that were deleted since.
            versioned=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(1),
                    noncurrent_version_expiration=cdk.Duration.days(NONCURRENT_DAYS),
                    expired_object_delete_marker=True,
                ),
                # References to these have a time to live in the table; the sweep deletes other unreferenced objects.
                s3.LifecycleRule(
                    prefix=EPHEMERAL,
                    expiration=cdk.Duration.days(EPHEMERAL_DAYS),
                    noncurrent_version_expiration=cdk.Duration.days(1),
                ),
            ],
            removal_policy=keep,
        )
        # EventBridge reports uploads. The bucket's own notifications would make a dependency cycle with the function.
        notifications = s3.CfnBucket.EventBridgeConfigurationProperty(event_bridge_enabled=True)
        bucket = cast("s3.CfnBucket", self.blobs.node.default_child)
        bucket.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            event_bridge_configuration=notifications
        )
        accept(self.blobs, "S1", "Only our functions read the bucket; CloudTrail tells of them, an access log doubles it.")

    def table_access(self, partitions: tuple[str, ...] = (), *, indexes: bool = True) -> list[Grant]:
        """Reading and writing items, and querying the two indexes; no Scan, and no operation on the table itself. `partitions`:
        patterns of the only partitions (none: all).
        """
        arn = self.table.table_arn
        items = ["GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"]
        within = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(partitions)}} if partitions else None
        own = iam.PolicyStatement(actions=[f"dynamodb:{item}" for item in (*items, "Query")], resources=[arn], conditions=within)
        index = iam.PolicyStatement(
            actions=["dynamodb:Query"],
            resources=[f"{arn}/index/{index_name(index)}" for index in Index],
            conditions=within,
        )
        return [Grant(own), *([Grant(index)] if indexes else []), *use_of(self, self._settings, "dynamodb")]

    def blob_access(self) -> list[Grant]:
        """Reading and writing objects of the bucket."""
        return [self.objects_access("*"), self.list_access(), *use_of(self, self._settings, "s3")]

    def objects_access(self, names: str) -> Grant:
        """Reading and writing the objects whose names fit a pattern."""
        objects = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
        bucket = cast("s3.CfnBucket", self.blobs.node.default_child)
        finding_pattern = names.replace("${", "<").replace("}", ">")  # as cdk-nag writes it
        finding = f"Resource::<{cdk.Stack.of(self).get_logical_id(bucket)}.Arn>/{finding_pattern}"
        within = iam.PolicyStatement(actions=objects, resources=[self.blobs.arn_for_objects(names)])
        return Grant(within, finding, "Blobs are named at run time; the bucket is ours alone.")

    def list_access(self) -> Grant:
        """Without permission to list, a missing object reads as forbidden."""
        return Grant(iam.PolicyStatement(actions=["s3:ListBucket"], resources=[self.blobs.bucket_arn]))

    def packages_access(self) -> Grant:
        """Signing the addresses of the packages of tools, of any tenant: reading them."""
        bucket = cast("s3.CfnBucket", self.blobs.node.default_child)
        finding = f"Resource::<{cdk.Stack.of(self).get_logical_id(bucket)}.Arn>/{PACKAGES}*"
        within = iam.PolicyStatement(actions=["s3:GetObject"], resources=[self.blobs.arn_for_objects(f"{PACKAGES}*")])
        return Grant(within, finding, "Sets of packages are named at run time; the bucket is ours alone.")

    def upload_access(self) -> Grant:
        """Signing the addresses of uploads, of any tenant."""
        return self.objects_access(f"{UPLOADS}*")


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
