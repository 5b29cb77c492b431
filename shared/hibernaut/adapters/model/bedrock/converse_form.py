"""The form of a reply on Bedrock's Converse API: `outputConfig`. Pure.

Sources: `OutputConfig`, `OutputFormat`, `JsonSchemaDefinition` (botocore, `bedrock-runtime`);
docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html.
"""

from __future__ import annotations

import json
import re

from hibernaut.adapters.model.bedrock.converse_models import ConverseTraits
from hibernaut.adapters.model.strict_schemas import closed, with_closed_objects
from hibernaut.ports.model import ModelRequest
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelBadRequest

_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_-]+")
DEFAULT_NAME = "reply"


def converse_form(request: ModelRequest, provider: str, traits: ConverseTraits) -> JsonObject:
    """The member `outputConfig`, or nothing: the response format of the agent, or the schema of a single answer if no call can be
    forced. Raises: ModelBadRequest for a response format that the model does not have.
    """
    if request.reply_schema is not None:
        schema = closed(request.reply_schema) if traits.structured and not traits.forces else None
        return {} if schema is None else _output(DEFAULT_NAME, schema)
    response_format = request.config.response_format
    match response_format:
        case None:
            return {}
        case _ if response_format.type == "text":
            return {}
        case _ if response_format.type == "json_schema" and traits.structured:
            json_schema = response_format.json_schema
            return _output(
                str(json_schema.get("name") or DEFAULT_NAME), with_closed_objects(json_schema.get("schema", json_schema))
            )
        case _:
            instead = "'json_schema'" if traits.structured else "'text', or a model with structured output"
            raise ModelBadRequest(
                f"{provider}: {request.config.model} takes no response_format {response_format.type!r} here; use {instead}"
            )


def _output(name: str, schema: Json) -> JsonObject:
    """The schema is a JSON text there."""
    written = {"schema": json.dumps(schema, ensure_ascii=False), "name": _UNNAMEABLE.sub("_", name)[:64]}
    return {"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": written}}}}
