"""The permissions to invoke Bedrock's models: exactly the models of the setting, in this account and region.

A model in the stack's region is one resource. An inference profile routes to a model in several regions. The permission therefore
covers the model in every region, but only through this profile
(docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-prereq.html and global-cross-region-inference.html).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from infra.bedrock_models import foundation_model
from infra.constructs.findings import ANYTHING, Grant, arn_pattern

INVOKE = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]
"""Converse and the OpenAI-compatible API need the same two (service authorization reference of Bedrock)."""
LIST = ["bedrock:ListFoundationModels", "bedrock:ListInferenceProfiles"]


def invoke_access(stack: cdk.Stack, models: Sequence[str]) -> Iterator[Grant]:
    """One grant for each model, and two for each inference profile."""
    for model in models:
        own = foundation_model(model)
        if own == model:
            arn = stack.format_arn(service="bedrock", account="", resource="foundation-model", resource_name=model)
            name = f"Resource::arn:<AWS::Partition>:bedrock:<AWS::Region>::foundation-model/{model}"
            yield Grant(iam.PolicyStatement(actions=INVOKE, resources=[arn]), *_pattern(model, name))
            continue
        profile = stack.format_arn(service="bedrock", resource="inference-profile", resource_name=model)
        yield Grant(
            iam.PolicyStatement(actions=INVOKE, resources=[profile]),
            *_pattern(model, arn_pattern(service="bedrock", resource=f"inference-profile/{model}")),
        )
        anywhere = stack.format_arn(service="bedrock", region="*", account="", resource="foundation-model", resource_name=own)
        through = iam.PolicyStatement(
            actions=INVOKE, resources=[anywhere], conditions={"ArnLike": {"bedrock:InferenceProfileArn": profile}}
        )
        name = f"Resource::arn:<AWS::Partition>:bedrock:*::foundation-model/{own}"
        yield Grant(through, name, "The profile chooses the region; without the profile the model is not allowed.")


def list_access() -> Grant:
    """The grant to list the models and inference profiles of the region."""
    return Grant(iam.PolicyStatement(actions=LIST, resources=["*"]), ANYTHING, "The lists of models take no resource.")


def _pattern(model: str, name: str) -> tuple[str | None, str]:
    return (name, "The setting bedrockModels names these models by a pattern.") if "*" in model else (None, "")
