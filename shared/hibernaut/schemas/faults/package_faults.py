"""The errors of tools' packages."""

from hibernaut.schemas.errors import InvalidArgument, Unavailable

LONGEST_FAULT = 2_000
"""Characters of the error text for the user who saves the tool."""


class PackagesRefused(InvalidArgument):
    """The packages that a tool requires cannot be installed. The text says which one, and why."""

    code = "packages_refused"

    def __init__(self, reason: str) -> None:
        self.reason = reason[:LONGEST_FAULT]
        super().__init__(f"INVALID_ARGUMENT: {self.reason}")


class PackageIndexUnavailable(Unavailable):
    """The package index does not answer, or its answer cannot be read."""

    code = "package_index_unavailable"


class PackagesPending(Unavailable):
    """The packages are being built, and take longer than a request may: the same request finds them later."""

    code = "packages_pending"
