"""Files that do not pass through the API: announced here, and sent by the client straight to where blobs lie.

The record stands before the bytes come. Whoever reads files is told when they have come; where they never do, the file ends in an error.
"""

from __future__ import annotations

from datetime import timedelta

from hibernaut.ports.uploads import Uploads
from hibernaut.schemas.errors import NotImplementedHere
from hibernaut.schemas.file import AnnouncedUpload, AnnounceUpload, UploadTicket
from hibernaut.services.files.files import Files
from hibernaut.store.files import FileStore

GOOD_FOR = timedelta(minutes=15)
"""How long the bytes may take to begin to come."""


class UploadTickets:
    """Announces uploads that go straight to the blob store."""

    def __init__(self, files: Files, store: FileStore, uploads: Uploads | None) -> None:
        """`uploads` None: there is no such way here."""
        self._files = files
        self._store = store
        self._uploads = uploads

    def announce(self, folder_id: str, asked: AnnounceUpload) -> AnnouncedUpload:
        """Make the file, and say where its bytes go.

        Raises: NotImplementedHere, NotFound, InvalidArgument (the name), UnsupportedMedia, PayloadTooLarge, Conflict, OSError.
        """
        if self._uploads is None:
            raise NotImplementedHere(
                "Files are sent to POST /v1/folders/{folder_id}/upload here: there is no bucket that takes them from clients."
            )
        expected = self._files.expect(folder_id, asked, good_for=GOOD_FOR)
        if expected.skipped:
            return AnnouncedUpload(file=expected.file)
        media_type = expected.file.file_type or "application/octet-stream"
        key = self._store.upload_blob(expected.file.id)
        until = expected.file.created_at + GOOD_FOR
        ticket = self._uploads.ticket(key, size=asked.file_size, media_type=media_type, until=until)
        upload = UploadTicket(url=ticket.url, headers=dict(ticket.headers), expires_at=ticket.expires_at)
        return AnnouncedUpload(file=expected.file, upload=upload)
