"""The error of a stored secret that cannot be opened."""

from hibernaut.schemas.errors import Conflict


class SecretUnreadable(Conflict):
    """The stored value of a secret cannot be opened: the master key that sealed it is another one, or the value is damaged.
    `name`: the secret's.
    """

    code = "secret_unreadable"

    def __init__(self, name: str, owner: str) -> None:
        self.name = name
        super().__init__(
            f"SECRET_UNREADABLE: The value of the secret {name} of {owner} cannot be decrypted: it was encrypted with another master key, or it is damaged. Set it again."
        )
