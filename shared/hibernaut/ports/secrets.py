"""Provider keys and addresses: where they come from is the deployment's affair (environment at home, KMS on AWS)."""

from __future__ import annotations

from typing import Protocol


class Secrets(Protocol):
    def get(self, name: str) -> str | None:
        """The secret of this name (`OPENAI_API_KEY`), or None. Never logged."""
