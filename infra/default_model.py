"""The setting `defaultModel`: the handle of the model of agents that are created without one."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hibernaut.adapters.model.bedrock_endpoints import NAME as BEDROCK
from hibernaut.adapters.model.demo.demo import PROVIDER as DEMO
from hibernaut.adapters.model.dialects import DIALECTS
from hibernaut.adapters.model.provider_settings import ANTHROPIC, VERTEX

PROVIDERS = frozenset(
    {ANTHROPIC, VERTEX, BEDROCK, DEMO} | {name for dialect in DIALECTS for name in (dialect.name, *dialect.aliases)}
)


def default_model_in(handle: str, bedrock_models: tuple[str, ...]) -> str:
    """The handle, or the empty string for the usual default. Raises: ValueError for a handle that no function could serve."""
    provider, _, model = handle.partition("/")
    if not handle:
        return ""
    if not model or provider not in PROVIDERS:
        raise ValueError(f"defaultModel must be a handle like openai/gpt-5.4 of {', '.join(sorted(PROVIDERS))}; not {handle!r}")
    if provider == BEDROCK and not any(fnmatchcase(model, allowed) for allowed in bedrock_models):
        allowed = ", ".join(bedrock_models) or "none"
        raise ValueError(f"defaultModel {handle!r} is none that bedrockModels allows ({allowed}); add it there")
    return handle
