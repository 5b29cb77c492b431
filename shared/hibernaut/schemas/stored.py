"""The base class of records that the table stores whole and replaces by newer versions."""

from pydantic import PrivateAttr

from hibernaut.schemas.base import Schema


class Stored(Schema):
    """A record with the key of the blob from which its body was read ("": the body was in the item, or was never read), and, if
    the record has a version history, the newest version (`number#hash`; "" before the first one).

    A copy has both values too, so that the writer of the next version knows the replaced blob and the previous version without a
    read.
    """

    _blob: str = PrivateAttr(default="")
    _chain: str = PrivateAttr(default="")

    @property
    def blob(self) -> str:
        return self._blob

    def read_from(self, blob: str) -> None:
        """Note the blob that the body was read from; "": the body was in the item."""
        self._blob = blob

    @property
    def chain(self) -> str:
        return self._chain

    def chained(self, chain: str) -> None:
        """Note the newest version of the record's history, as `number#hash`."""
        self._chain = chain
