"""The configuration of a model (Letta V1 API, API 4.12). `LLMConfig` is the stored form, `ModelSettings` the newer API's
form.
"""

from typing import Annotated, Literal

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Schema, Whole


class TextResponseFormat(Schema):
    """The response is free text."""

    type: Literal["text"] = "text"


class JsonSchemaResponseFormat(Schema):
    """The response matches a JSON schema."""

    type: Literal["json_schema"] = "json_schema"
    json_schema: JsonObject


class JsonObjectResponseFormat(Schema):
    """The response is a JSON object."""

    type: Literal["json_object"] = "json_object"


ResponseFormat = Annotated[TextResponseFormat | JsonSchemaResponseFormat | JsonObjectResponseFormat, Field(discriminator="type")]

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class LLMConfig(Schema):
    """A model's configuration. `context_window` and `max_tokens` are in tokens; `handle` is `provider/model`."""

    model: str
    model_endpoint_type: str
    context_window: Whole = Field(gt=0)
    display_name: str | None = None
    model_endpoint: str | None = None
    provider_name: str | None = None
    provider_category: Literal["base", "byok"] | None = None
    model_wrapper: str | None = None
    put_inner_thoughts_in_kwargs: bool | None = False
    handle: str | None = None
    temperature: float | None = 1.0
    max_tokens: Whole | None = None
    enable_reasoner: bool = True
    reasoning_effort: Effort | None = None
    max_reasoning_tokens: Whole = 0
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    frequency_penalty: float | None = None
    compatibility_type: Literal["gguf", "mlx"] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    tier: str | None = None
    parallel_tool_calls: bool | None = False
    response_format: ResponseFormat | None = None
    strict: bool = False
    return_logprobs: bool = False
    top_logprobs: Whole | None = None
    return_token_ids: bool = False
    tool_call_parser: str | None = None


class EmbeddingConfig(Schema):
    """An embedding model's configuration. `embedding_chunk_size` is in tokens."""

    embedding_endpoint_type: str
    embedding_model: str
    embedding_dim: Whole = Field(gt=0)
    embedding_endpoint: str | None = None
    embedding_chunk_size: Whole | None = 300
    handle: str | None = None
    batch_size: Whole = 32
    azure_endpoint: str | None = None
    azure_version: str | None = None
    azure_deployment: str | None = None


class ModelDescription(LLMConfig):
    """A row of GET /v1/models/: the fields of LLMConfig and those that the SDK's Model adds (API 2.13).

    `trained_context_window`, an extension of Hibernaut: the tokens that the model was trained for, if its server tells them; the
    server may read fewer. `context_window_assumed`, another: the server does not tell the window before it loads the model, and
    the row shows the least one.
    """

    name: str
    provider_type: str
    model_type: Literal["llm"] = "llm"
    max_context_window: int
    trained_context_window: int | None = None
    context_window_assumed: bool = False


class EmbeddingModelDescription(EmbeddingConfig):
    """A row of GET /v1/models/embedding."""

    name: str
    display_name: str
    provider_name: str
    provider_type: str
    model_type: Literal["embedding"] = "embedding"
