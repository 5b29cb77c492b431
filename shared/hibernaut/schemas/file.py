"""A file of a folder, what an agent has open of it, and how both are shown (Letta V1 API, digest 2.7, 2.12 and 4.10)."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from hibernaut.schemas.base import Moment, Schema, Whole
from hibernaut.schemas.folder import StoredFolder
from hibernaut.schemas.limits import Name
from hibernaut.schemas.stored import Stored

Duplicates = Literal["suffix", "skip", "error", "replace"]
"""What becomes of an upload whose name the folder has already."""


class FileStatus(StrEnum):
    PENDING = "pending"
    PARSING = "parsing"
    EMBEDDING = "embedding"
    COMPLETED = "completed"
    ERROR = "error"


ENDED = (FileStatus.COMPLETED, FileStatus.ERROR)


class TextPart(Schema):
    """A part of a file's text, which lies in a blob of its own. `first_line` counts from 1."""

    first_line: int
    characters: int


class FileMetadata(Schema):
    """As shown. `file_size` in bytes; `content` is the text that was read from the file, where it is asked for.

    `estimated_completion_at`, Hibernaut's own: when all pieces will be embedded if it goes on as it has so far.
    """

    id: str
    source_id: str
    file_name: str | None = None
    original_file_name: str | None = None
    file_path: str | None = None
    file_type: str | None = None
    file_size: int | None = None
    file_creation_date: str | None = None
    file_last_modified_date: str | None = None
    processing_status: FileStatus = FileStatus.PENDING
    error_message: str | None = None
    total_chunks: int | None = None
    chunks_embedded: int | None = None
    estimated_completion_at: Moment | None = None
    content: str | None = None
    created_at: Moment
    updated_at: Moment


class StoredFile(Stored):
    """As the table keeps it. `name` is the plain name in the folder; `original_name` the one that it was sent under.

    `parts`: its text, in order, once it was read; `lines` and `characters` of all of them. `written` counts the pieces that are stored,
    `total` how many there will be; `embedded` is an attribute of the item, which the indexer counts up. `takes` counts the workers that
    took it up.
    """

    id: str
    folder_id: str
    name: str
    original_name: str
    media_type: str
    size: int
    status: FileStatus = FileStatus.PARSING
    error: str | None = None
    parts: list[TextPart] = Field(default_factory=list)
    readable: bool = False
    lines: int = 0
    characters: int = 0
    total: int | None = None
    written: int = 0
    embedded: int = 0
    takes: int = 0
    created_at: Moment
    updated_at: Moment

    def wire(self, folder: StoredFolder | None, content: str | None = None, *, now: datetime | None = None) -> FileMetadata:
        """As it is shown; with a folder, its name stands before the file's. `now`: by which the end of the embedding is estimated."""
        return FileMetadata(
            id=self.id,
            source_id=self.folder_id,
            file_name=f"{folder.name}/{self.name}" if folder else self.name,
            original_file_name=self.original_name,
            file_type=self.media_type,
            file_size=self.size,
            processing_status=self.status,
            error_message=self.error,
            total_chunks=self.total,
            chunks_embedded=min(self.embedded, self.total) if self.total is not None else None,
            estimated_completion_at=self._estimated(now) if now is not None else None,
            content=content,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    def _estimated(self, now: datetime) -> datetime | None:
        """The pieces are embedded since the file was last written; None before the first are, and where there is nothing to wait for."""
        if self.status is not FileStatus.EMBEDDING or self.total is None or not 0 < self.embedded < self.total:
            return None
        return now + (now - self.updated_at) * ((self.total - self.embedded) / self.embedded)


class OpenFile(Schema):
    """What an agent has open: `start` counts lines from 0, `length` None shows all that fits. `accessed` orders what is closed first."""

    start: int = 0
    length: int | None = None
    accessed: Moment


class Desk(Stored):
    """What an agent has open, by file, and when it last looked at files that are closed. `version` counts changes; 0: nothing stored."""

    open: dict[str, OpenFile] = Field(default_factory=dict)
    seen: dict[str, Moment] = Field(default_factory=dict)
    version: int = 0


class AgentFile(Schema):
    """A file as an agent has it (`AgentFileAttachment`). Lines count from 1."""

    id: str
    file_id: str
    file_name: str
    folder_id: str
    folder_name: str
    is_open: bool
    last_accessed_at: Moment | None = None
    visible_content: str | None = None
    start_line: int | None = None
    end_line: int | None = None


class AgentFilePage(Schema):
    """A page of an agent's files."""

    files: list[AgentFile]
    next_cursor: str | None = None
    has_more: bool = False


class AnnounceUpload(Schema):
    """A file that its sender wants to put into the bucket: its name, its size in bytes and its type."""

    file_name: Name
    file_size: Whole = Field(ge=1)
    content_type: Name | None = None
    duplicate_handling: Duplicates = "suffix"


class UploadTicket(Schema):
    """The one request that takes the bytes: these headers are part of the signature, and it takes one body."""

    method: Literal["PUT"] = "PUT"
    url: str
    headers: dict[str, str]
    expires_at: Moment


class AnnouncedUpload(Schema):
    """The file as it will be, and how its bytes get there; without `upload` the folder has a file of the name, and keeps it."""

    file: FileMetadata
    upload: UploadTicket | None = None
