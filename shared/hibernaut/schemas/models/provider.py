"""A model provider with a key of a tenant's own: its wire form, the stored record, and the requests (Letta V1 API, API 3,
RT 11.1; the fields are those of `Provider`, `ProviderCreate`, `ProviderUpdate` and `ProviderCheck`).
"""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.stored import Stored

ProviderType = Literal[
    "anthropic",
    "azure",
    "baseten",
    "bedrock",
    "cerebras",
    "chatgpt_oauth",
    "deepseek",
    "fireworks",
    "google_ai",
    "google_vertex",
    "groq",
    "hugging-face",
    "letta",
    "llamacpp",
    "lmstudio_openai",
    "minimax",
    "mistral",
    "moonshot",
    "moonshot_coding",
    "ollama",
    "openai",
    "openrouter",
    "sglang",
    "together",
    "vllm",
    "xai",
    "zai",
    "zai_coding",
]
"""The types of letta-client 1.12.1, and `llamacpp`. The adapters serve some of them."""
LONGEST_PROVIDER_NAME = 100
"""Characters. A key of the table holds the name."""
LONGEST_KEY = 8_192
"""Characters of a key."""
SENDABLE_KEY = re.compile(r"[\x21-\x7e]+")
"""The characters that a header can hold: no space and no line break."""
DOCUMENT_KEYS = frozenset({"google_vertex"})
"""The types whose key is the JSON key of a service account, which is never sent to the provider."""
PROVIDER_NAME = re.compile(r"[^/\s](?:[^/]*[^/\s])?")
"""The first part of a handle: no slash, and no space at an end. It must be printable too."""


def _empty_is_none(value: object) -> object:
    """V1's clients send "" for what they leave out."""
    return None if value == "" else value


_Part = Annotated[str | None, StringConstraints(max_length=200), BeforeValidator(_empty_is_none)]
_Key = Annotated[str, StringConstraints(max_length=LONGEST_KEY)]
_OptionalKey = Annotated[str | None, StringConstraints(max_length=LONGEST_KEY), BeforeValidator(_empty_is_none)]
_Address = Annotated[str | None, StringConstraints(max_length=2_000), BeforeValidator(_empty_is_none)]


class Provider(Schema):
    """The wire form. `api_key` and `access_key` are always null: a stored key is never returned. `last_synced`: the time of the
    last requested refresh of its models.
    """

    id: str
    name: str
    provider_type: ProviderType
    provider_category: Literal["byok"] = "byok"
    api_key: None = None
    access_key: None = None
    base_url: str | None = None
    region: str | None = None
    api_version: str | None = None
    created_at: Moment
    updated_at: Moment
    last_synced: Moment | None = None


class StoredProvider(Stored, Provider):
    """The stored record. `sealed_key` and `sealed_access_key`: the encrypted keys in base64. `version` counts changes."""

    sealed_key: str | None = Field(default=None, repr=False)
    sealed_access_key: str | None = Field(default=None, repr=False)
    version: int = 1

    def wire(self) -> Provider:
        """The wire form."""
        return Provider.model_construct(**{name: getattr(self, name) for name in Provider.model_fields})


class ProviderKeys(Schema):
    """What opens a provider: the body of PATCH /v1/providers/{id}. `api_key` may be empty for a server that needs none. Null
    fields change nothing.
    """

    api_key: _Key = Field(repr=False)
    access_key: _OptionalKey = Field(default=None, repr=False)
    region: _Part = None
    base_url: _Address = None
    api_version: _Part = None


class CheckProvider(ProviderKeys):
    """The body of POST /v1/providers/check."""

    provider_type: ProviderType


class CreateProvider(CheckProvider):
    """The body of POST /v1/providers/."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_PROVIDER_NAME)]


class ProviderMessage(Schema):
    """What became of a check or a deletion."""

    message: str
