"""What an API key or a token of an identity provider permits."""

from enum import StrEnum


class Scope(StrEnum):
    """What a key permits; each scope includes the ones below it. `admin`: also API keys. `write`: all changes. `read`: reads and
    searches.
    """

    ADMIN = "admin"
    WRITE = "write"
    READ = "read"

    def includes(self, other: "Scope") -> bool:
        """Whether this scope permits all that the other one does; each includes itself."""
        order = list(Scope)
        return order.index(self) <= order.index(other)
