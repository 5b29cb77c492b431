"""Provider keys and addresses. The deployment decides where they are stored (environment variables locally, SSM with KMS on
AWS).
"""

from __future__ import annotations

from typing import Protocol


class Secrets(Protocol):
    """The source of secrets."""

    def get(self, name: str) -> str | None:
        """The value of the secret with this name (such as `OPENAI_API_KEY`), or None. Must never be logged.

        Raises: SecretsUnavailable if the source does not respond and knows no earlier value.
        """
