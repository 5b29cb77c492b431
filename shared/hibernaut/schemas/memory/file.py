"""A file of a folder, and the files that an agent has open: records and wire forms (Letta V1 API, API 2.7, 2.12 and 4.10)."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import ConfigDict, Field

from hibernaut.schemas.base import Moment, Schema, Whole
from hibernaut.schemas.limits import Name
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.schemas.stored import Stored

Duplicates = Literal["suffix", "skip", "error", "replace"]
"""What happens to an upload if the folder has a file with the same name."""


class FileStatus(StrEnum):
    """The states of an uploaded file's processing."""

    PENDING = "pending"
    PARSING = "parsing"
    EMBEDDING = "embedding"
    COMPLETED = "completed"
    ERROR = "error"


ENDED = (FileStatus.COMPLETED, FileStatus.ERROR)


class TextPart(Schema):
    """A part of a file's text, stored in a blob of its own. `first_line` counts from 1."""

    first_line: int
    characters: int


class FileMetadata(Schema):
    """The wire form. `file_size` is in bytes; `content` is the extracted text, if the caller requested it.

    `estimated_completion_at`, an extension of Hibernaut, is the time when all passages will be embedded at the current rate.
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
    """The stored record. `name` is the unique name in the folder; `original_name` is the name in the upload.

    `parts` is the extracted text in order; `lines` and `characters` are the totals. `written` counts the stored passages, `total`
    is their final number; `embedded` is an attribute of the item that the indexer increments. `takes` counts the attempts of
    workers to process the file.
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
        """The wire form; with `folder`, the folder's name precedes the file's. `now` is the time for estimating the end of the
        embedding.
        """
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
        """The estimated end of the embedding, at the rate since the last write; None before the first passage is embedded, and
        when all are.
        """
        if self.status is not FileStatus.EMBEDDING or self.total is None or not 0 < self.embedded < self.total:
            return None
        return now + (now - self.updated_at) * ((self.total - self.embedded) / self.embedded)


class OpenFile(Schema):
    """An open file. `start` counts lines from 0; `length` None shows as many lines as fit. `accessed` decides which file is
    closed first.
    """

    start: int = 0
    length: int | None = None
    accessed: Moment


class Desk(Stored):
    """An agent's open files, and its last access to closed ones (stored as `seen`), by file id. `version` counts changes; 0: not
    stored.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    open: dict[str, OpenFile] = Field(default_factory=dict)
    last_accessed: dict[str, Moment] = Field(default_factory=dict, validation_alias="seen", serialization_alias="seen")
    version: int = 0


class AgentFile(Schema):
    """A file as attached to an agent (`AgentFileAttachment`). Lines count from 1."""

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
    """The announcement of a direct upload: the file's own name, its size in bytes and its media type. `name`: the name in the
    folder, which may be a path; without it, the last part of `file_name`.
    """

    file_name: Name
    name: Name | None = None
    file_size: Whole = Field(ge=1)
    content_type: Name | None = None
    duplicate_handling: Duplicates = "suffix"


class UploadTicket(Schema):
    """A presigned request for one upload: the headers are part of the signature, and only one body is accepted."""

    method: Literal["PUT"] = "PUT"
    url: str
    headers: dict[str, str]
    expires_at: Moment


class AnnouncedUpload(Schema):
    """The announced file and the ticket for its bytes. Without `upload`, the folder has a file with this name and keeps it."""

    file: FileMetadata
    upload: UploadTicket | None = None
