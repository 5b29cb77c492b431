"""The variables that configure providers of models, embeddings and searches."""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.adapters.embedder.hosted import voyage
from hibernaut.adapters.model.bedrock_endpoints import is_region
from hibernaut.adapters.model.dialects import DIALECTS
from hibernaut.adapters.model.provider_settings import VERTEX_NAMES, is_location
from hibernaut.ports.tools.web_search import SEARCH_NAMES
from hibernaut.wiring.configuration.variables import BadSetting

PROVIDER_NAMES = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_WIRE", "AZURE_WIRE", voyage.KEY, voyage.ADDRESS, *VERTEX_NAMES),
    *(
        name
        for dialect in DIALECTS
        for name in (dialect.key, dialect.address, dialect.older_address, dialect.handle_base)
        if name
    ),
    *SEARCH_NAMES,
)
"""The variables that configure providers and search engines: the key and the address of each, and the APIs of `openai/…` and
`azure/…` models.
"""
BEDROCK_NAMES = ("BEDROCK_REGION", "BEDROCK_MODELS", "BEDROCK_BASE_URL")
"""The variables that configure Bedrock. On AWS the stack decides about them; they are no parameters."""


def providers_in(variables: Mapping[str, str]) -> Mapping[str, str]:
    """The variables of providers that are set. Raises: BadSetting."""
    found = {name: variables[name] for name in (*PROVIDER_NAMES, *BEDROCK_NAMES) if variables.get(name)}
    for wire in ("OPENAI_WIRE", "AZURE_WIRE"):
        if found.get(wire, "chat") not in ("responses", "chat"):
            raise BadSetting(f"{wire} must be responses or chat, not {found[wire]!r}")
    if "BEDROCK_REGION" in found and not is_region(found["BEDROCK_REGION"]):
        raise BadSetting(f"BEDROCK_REGION must be an AWS region like eu-central-1, not {found['BEDROCK_REGION']!r}")
    if "GOOGLE_CLOUD_LOCATION" in found and not is_location(found["GOOGLE_CLOUD_LOCATION"]):
        raise BadSetting(
            f"GOOGLE_CLOUD_LOCATION must be a location like europe-west4, or global, not {found['GOOGLE_CLOUD_LOCATION']!r}"
        )
    return found
