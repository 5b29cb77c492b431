"""The base class of records that the table stores whole and replaces by newer versions."""

from pydantic import PrivateAttr

from hibernaut.schemas.base import Schema


class Stored(Schema):
    """A record that remembers the blob from which its body was read ("": the body was in the item, or was never read).

    A copy keeps the reference, so that the writer of the next version knows the replaced blob without a read.
    """

    _blob: str = PrivateAttr(default="")

    @property
    def blob(self) -> str:
        return self._blob

    def read_from(self, blob: str) -> None:
        self._blob = blob
