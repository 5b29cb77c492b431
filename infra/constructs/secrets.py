"""The KMS key that protects stored secrets: the stack's own, or the one in the settings.

Knows: the functions that may use the key, and the environment. The adapter (`adapters/cipher/kms.py`) defines the encryption
context.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from hibernaut.adapters.cipher.kms import DEPLOYMENT
from infra.constructs.findings import Grant
from infra.constructs.functions import OurFunction
from infra.settings import Settings

VARIABLE = "HIBERNAUT_SECRETS_KEY"
PENDING_DAYS = 7
"""Days in which the deletion of a development key can be cancelled: KMS's minimum."""


class SecretsKey(Construct):
    """The key, with yearly rotation. In production it survives the stack, because stored secrets are lost without it."""

    def __init__(self, scope: Construct, id: str, settings: Settings) -> None:
        super().__init__(scope, id)
        self._environment = settings.name
        self.arn = settings.secrets_key or self._own(settings)

    def _own(self, settings: Settings) -> str:
        keep = settings.keep_data
        key = kms.Key(
            self,
            "Key",
            description=f"Secrets that {settings.stack_name} stores",
            alias=f"alias/{settings.stack_name}",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.RETAIN if keep else cdk.RemovalPolicy.DESTROY,
            pending_window=None if keep else cdk.Duration.days(PENDING_DAYS),
        )
        return key.key_arn

    def allow(self, function: OurFunction, *, sealing: bool) -> None:
        """Name the key to the function and permit decryption; `sealing` permits encryption too. Both are limited to values of
        this environment.
        """
        actions = ["kms:Decrypt", *(["kms:GenerateDataKey"] if sealing else [])]
        own = {"StringEquals": {f"kms:EncryptionContext:{DEPLOYMENT}": self._environment}}
        function.allow(Grant(iam.PolicyStatement(actions=actions, resources=[self.arn], conditions=own)))
        function.function.add_environment(VARIABLE, self.arn)
