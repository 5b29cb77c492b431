"""What all records have in common that the table keeps whole and replaces by newer versions of themselves."""

from __future__ import annotations

from pydantic import PrivateAttr

from hibernaut.schemas.base import Schema


class Stored(Schema):
    """A record that remembers the blob which its body was read from (""; it lay in its item, or was never read).

    A copy remembers it too, so that whoever writes the next version knows which blob it replaces without reading anything.
    """

    _blob: str = PrivateAttr(default="")

    @property
    def blob(self) -> str:
        return self._blob

    def read_from(self, blob: str) -> None:
        self._blob = blob
