"""The port `Secrets` on the environment's variables, as the settings read them.

Knows: a mapping of names to texts. Must not know: where it was read, or what a secret opens.
"""

from __future__ import annotations

from collections.abc import Mapping


class EnvironmentSecrets:
    """What was set when the process began. An empty text counts as not set, as shells have no other way to say so."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def get(self, name: str) -> str | None:
        return self._values.get(name) or None

    def __repr__(self) -> str:
        return f"EnvironmentSecrets({sorted(self._values)})"
