"""Tools of MCP servers as tools of this server: their names here, their facts in `metadata_`, and the variables in a server's
headers. Pure.

A name on an MCP server has up to 128 characters of any kind. A provider takes letters, digits, `_` and `-`, and a tool's name is
unique in its tenant.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Literal

from hibernaut.domain.tools.builtin.builtin_tools import builtin_tools
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.tools.tool import MAX_NAME, Tool, ToolType

McpToolState = Literal["available", "changed", "missing"]
"""`changed`: the server describes other arguments than the stored ones. `missing`: the server has the tool no more."""
TAG = "mcp:"
"""The prefix of the tag that names the server (RT 10.8)."""
_FACTS = "mcp"
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")
_VARIABLE = re.compile(r"\{\{\s*([A-Z_][A-Z0-9_]*)\s*(?:\|([^{}]*))?\}\}")


@immutable
class McpFacts:
    """Where a tool of a server comes from. `tool_name`: its name there. `fingerprint`: of its schema there."""

    server_id: str
    server_name: str
    tool_name: str
    fingerprint: str = ""
    state: McpToolState = "available"

    def metadata(self) -> JsonObject:
        """As `metadata_` of the tool holds it."""
        names = {"server_id": self.server_id, "server_name": self.server_name, "tool_name": self.tool_name}
        return {_FACTS: {**names, "fingerprint": self.fingerprint, "state": self.state}}


def facts_of(tool: Tool) -> McpFacts:
    """The facts of a tool of the type external_mcp. A tool of an agent file may have none but the tag, or those of V1."""
    stored = (tool.metadata_ or {}).get(_FACTS)
    facts = stored if isinstance(stored, dict) else {}
    tagged = next((tag.removeprefix(TAG) for tag in tool.tags if tag.startswith(TAG)), "")
    state = facts.get("state")
    return McpFacts(
        server_id=_text(facts, "server_id"),
        server_name=_text(facts, "server_name") or tagged,
        tool_name=_text(facts, "tool_name") or tool.name or "",
        fingerprint=_text(facts, "fingerprint"),
        state=state if state in ("changed", "missing") else "available",
    )


def _text(facts: Mapping[str, object], name: str) -> str:
    value = facts.get(name)
    return value if isinstance(value, str) else ""


def is_of(tool: Tool, server_id: str, server_name: str) -> bool:
    """Whether a tool belongs to this server, or was imported without a server and names it."""
    if tool.tool_type is not ToolType.EXTERNAL_MCP:
        return False
    facts = facts_of(tool)
    return facts.server_id == server_id or (not facts.fingerprint and facts.server_name == server_name)


def is_same(existing: Tool, imported: Tool) -> bool:
    """Whether a tool of an agent file is one that a server has described here: the description of the server is then retained."""
    if not existing.tool_type == imported.tool_type == ToolType.EXTERNAL_MCP:
        return False
    existing_facts, imported_facts = facts_of(existing), facts_of(imported)
    return bool(existing_facts.fingerprint) and (existing_facts.server_name, existing_facts.tool_name) == (
        imported_facts.server_name,
        imported_facts.tool_name,
    )


def names_for(tool_name: str, server_name: str) -> tuple[str, ...]:
    """The names that a tool may have here, the best first: its own, then one with the name of its server, then one with a
    hash.
    """
    plain, server = _fit(tool_name), _fit(server_name)
    digest = hashlib.sha256(f"{server_name}/{tool_name}".encode("utf-8", "replace")).hexdigest()[:8]
    candidates = dict.fromkeys((_short(plain, digest), _short(f"{server}_{plain}", digest), _short(f"{plain}-{digest}", digest)))
    return tuple(name for name in candidates if name and name not in builtin_tools())


def _fit(name: str) -> str:
    return _UNFIT.sub("_", name).strip("_-")


def _short(name: str, digest: str) -> str:
    return name if 0 < len(name) <= MAX_NAME else f"{name[: MAX_NAME - 9]}-{digest}"


def resolved(text: str, variables: Mapping[str, str]) -> str:
    """The text with the values of its variables, or their defaults behind a vertical bar. Raises: KeyError with the name of one
    without a value.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] in variables:
            return variables[match[1]]
        if match[2] is None:
            raise KeyError(match[1])
        return match[2].strip()

    return _VARIABLE.sub(value, text)
