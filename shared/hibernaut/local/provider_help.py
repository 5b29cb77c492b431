"""What the help and the start-up text say about model providers, generated from the table of their dialects.

Must not know which providers are configured.
"""

from __future__ import annotations

from hibernaut.adapters.model.dialects import DIALECTS, OLLAMA, OPENAI, Dialect
from hibernaut.adapters.model.provider_settings import VERTEX, VERTEX_NAMES

_ANTHROPIC = ("anthropic/…", "ANTHROPIC_API_KEY", "Anthropic")
_VERTEX = (f"{VERTEX}/…", VERTEX_NAMES[0], "Vertex AI, with a location")
_BEDROCK = ("bedrock/…", "BEDROCK_REGION", "Amazon Bedrock")


def provider_lines() -> str:
    """One line for each provider: its handles, the variables that it needs, and its name."""
    rows = _rows()
    handles, variables = (max(len(row[column]) for row in rows) + 2 for column in (0, 1))
    return "\n".join(f"    {row[0]:{handles}}{row[1]:{variables}}{row[2]}" for row in rows)


def _rows() -> list[tuple[str, str, str]]:
    """The providers in the order in which they become the default: handles, variables, name."""
    first, *others = [(f"{dialect.name}/…", _needed(dialect), dialect.title) for dialect in DIALECTS]
    return [first, _ANTHROPIC, _BEDROCK, _VERTEX, *others]


def _needed(dialect: Dialect) -> str:
    """The key for a provider with an address of its own, the address for a server of the user's own, else both."""
    if dialect.url:
        return dialect.key
    return dialect.address if dialect.local else f"{dialect.key}, {dialect.address}"


ADD_A_PROVIDER = (
    f"set the variables of any of {len(_rows())} providers, for example {OPENAI.key} or {OLLAMA.address}, and restart "
    "(`hibernaut dev --help` lists them)"
)
