"""The base class of records that the table stores whole and replaces by newer versions."""

from pydantic import PrivateAttr

from hibernaut.schemas.base import Schema


class Stored(Schema):
    """A record that remembers the blob from which its body was read ("": the body was in the item, or was never read), and, of a record whose versions are
    kept, the newest one (`number#hash`; "" before the first one).

    A copy keeps both, so that the writer of the next version knows the replaced blob and the version before without a read.
    """

    _blob: str = PrivateAttr(default="")
    _chain: str = PrivateAttr(default="")

    @property
    def blob(self) -> str:
        return self._blob

    def read_from(self, blob: str) -> None:
        self._blob = blob

    @property
    def chain(self) -> str:
        return self._chain

    def chained(self, chain: str) -> None:
        self._chain = chain
