"""The environment of the functions that serve tenants' records: where things are, and the settings that differ from their
defaults.
"""

from __future__ import annotations

import aws_cdk as cdk

from hibernaut.store.versions.version_store import RETENTION
from infra.bedrock_models import default_handle
from infra.constructs.functions import OurFunction
from infra.constructs.storage import Storage
from infra.constructs.workflow import started_arn
from infra.settings import Settings


def function_variables(
    scope: cdk.Stack, settings: Settings, storage: Storage, *, run_tool: OurFunction, run_node: OurFunction
) -> dict[str, str]:
    """The variables of all functions but the sandboxes, which have none."""
    return {
        "HIBERNAUT_ENV": settings.name,
        "HIBERNAUT_TABLE": storage.table.table_name,
        "HIBERNAUT_BUCKET": storage.blobs.bucket_name,
        "HIBERNAUT_STATE_MACHINE": started_arn(scope, settings),
        "HIBERNAUT_RUN_TOOL": run_tool.function.function_name,
        "HIBERNAUT_RUN_NODE": run_node.function.function_name,
        "HIBERNAUT_PARAMETERS": settings.parameters,
        **_bedrock(settings),
        **({"HIBERNAUT_DEFAULT_EMBEDDING": settings.embedding} if settings.embedding else {}),
        **({"HIBERNAUT_TRACES": settings.traces} if settings.traces != "off" else {}),
        **({"HIBERNAUT_PROMPT_CACHE": settings.prompt_cache} if settings.prompt_cache != "5m" else {}),
        **({"HIBERNAUT_TOOL_TIMEOUT": str(settings.tool_seconds)} if settings.tool_seconds else {}),
        **({"HIBERNAUT_AGENT_REPLY": str(settings.reply_seconds)} if settings.reply_seconds else {}),
        **({"HIBERNAUT_SYSTEM_PROMPT": settings.system_prompt} if settings.system_prompt != "frozen" else {}),
        **({"HIBERNAUT_OTLP_ENDPOINT": settings.otlp} if settings.otlp else {}),
        **({"HIBERNAUT_TENANT_BUDGET": settings.tenant_budget} if settings.tenant_budget else {}),
        **({"HIBERNAUT_HISTORY_DAYS": str(settings.history.days)} if settings.history != RETENTION else {}),
        **settings.retention.variables(),
        **dict(settings.outward),
    }


def _bedrock(settings: Settings) -> dict[str, str]:
    """The variables for Bedrock: the permitted models and the default model."""
    models = settings.bedrock_models
    default = settings.default_model or default_handle(models)
    return ({"BEDROCK_MODELS": ",".join(models)} if models else {}) | ({"HIBERNAUT_DEFAULT_MODEL": default} if default else {})
