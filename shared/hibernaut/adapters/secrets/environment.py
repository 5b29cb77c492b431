"""The port `Secrets` on environment variables, as the settings read them.

Knows: a mapping of names to texts. Must not know: its source, or the purpose of a secret.
"""

from __future__ import annotations

from collections.abc import Mapping


class EnvironmentSecrets:
    """The variables at the start of the process. An empty value counts as absent, because a shell cannot easily unset a variable
    for a command.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def get(self, name: str) -> str | None:
        return self._values.get(name) or None

    def __repr__(self) -> str:
        return f"EnvironmentSecrets({sorted(self._values)})"
