"""Values of the CDK context that several settings have: true or false, and lists. Plain values."""

from __future__ import annotations

from collections.abc import Mapping


def wished(context: Mapping[str, object], name: str) -> bool:
    """Whether the value is true; false without one. Raises: ValueError."""
    text = str(context.get(name, "false")).lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name} must be true or false, not {text!r}")
    return text == "true"


def parts_in(context: Mapping[str, object], name: str) -> tuple[str, ...]:
    """The parts of a value between commas."""
    return tuple(part.strip() for part in str(context.get(name, "")).split(",") if part.strip())
