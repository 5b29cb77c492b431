"""Direct uploads: a client announces a file here and sends its bytes straight to the blob store, not through the API.

The file's record exists before the bytes arrive. Their arrival starts the ingestion; if they never arrive, the file ends in an
error.
"""

from __future__ import annotations

from datetime import timedelta

from hibernaut.ports.storage.uploads import Uploads
from hibernaut.schemas.errors import NotImplementedHere
from hibernaut.schemas.memory.file import AnnouncedUpload, AnnounceUpload, UploadTicket
from hibernaut.services.files.files import Files
from hibernaut.store.memory.files import FileStore

GOOD_FOR = timedelta(minutes=15)
"""The validity of an upload ticket: the upload must begin within this time."""


class UploadTickets:
    """Issues tickets for uploads that go straight to the blob store."""

    def __init__(self, files: Files, store: FileStore, uploads: Uploads | None) -> None:
        """`uploads` None: this deployment has no direct uploads."""
        self._files = files
        self._store = store
        self._uploads = uploads

    def announce(self, folder_id: str, announcement: AnnounceUpload) -> AnnouncedUpload:
        """Create the file's record and a ticket for its bytes; no ticket if the file is skipped as a duplicate.

        Raises: NotImplementedHere, NotFound, InvalidArgument (the name), UnsupportedMedia, PayloadTooLarge, Conflict, OSError.
        """
        if self._uploads is None:
            raise NotImplementedHere(
                "Files are sent to POST /v1/folders/{folder_id}/upload here: there is no bucket that takes them from clients."
            )
        expected = self._files.expect(folder_id, announcement, good_for=GOOD_FOR)
        if expected.skipped:
            return AnnouncedUpload(file=expected.file)
        media_type = expected.file.file_type or "application/octet-stream"
        key = self._store.upload_blob(expected.file.id)
        until = expected.file.created_at + GOOD_FOR
        ticket = self._uploads.ticket(key, size=announcement.file_size, media_type=media_type, until=until)
        upload = UploadTicket(url=ticket.url, headers=dict(ticket.headers), expires_at=ticket.expires_at)
        return AnnouncedUpload(file=expected.file, upload=upload)
