"""The port `Secrets` with some names answered by the deployment's settings instead of the source of secrets.

Must not know: the purpose of a name.
"""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.ports.storage.secrets import Secrets


class OverlaySecrets:
    """`values` replaces `base` for its names; an empty or absent value counts as absent, without a query of `base`."""

    def __init__(self, base: Secrets, values: Mapping[str, str | None]) -> None:
        self._base = base
        self._values = dict(values)

    def get(self, name: str) -> str | None:
        return (self._values[name] or None) if name in self._values else self._base.get(name)
