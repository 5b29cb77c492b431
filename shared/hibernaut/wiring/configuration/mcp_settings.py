"""The settings of MCP servers at home.

HIBERNAUT_MCP_STDIO    on or off: whether clients with a key may add MCP servers that are programs of this machine (default: off)
"""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.wiring.configuration.variables import BadSetting


def mcp_programs_in(variables: Mapping[str, str]) -> bool:
    """Whether MCP servers may be programs. Raises: BadSetting."""
    match variables.get("HIBERNAUT_MCP_STDIO") or "off":
        case "on":
            return True
        case "off":
            return False
        case text:
            raise BadSetting(f"HIBERNAUT_MCP_STDIO must be on or off, not {text!r}")
