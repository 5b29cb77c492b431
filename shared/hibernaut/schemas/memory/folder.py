"""A folder of files (Letta V1 API, API 2.12 and 4.10): the record and its requests. Its ids begin with `source`."""

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Moment, Schema, StrictSchema, Whole
from hibernaut.schemas.limits import Metadata, Name, Note, Small
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from hibernaut.schemas.stored import Stored


class Folder(Schema):
    """A folder. `embedding_config` None: search in its files uses words only. The configuration never changes."""

    id: str
    name: str
    description: str | None = None
    instructions: str | None = None
    metadata: JsonObject | None = None
    embedding_config: EmbeddingConfig | None = None
    created_by_id: str | None = None
    last_updated_by_id: str | None = None
    created_at: Moment
    updated_at: Moment


class Source(Folder):
    """A folder by its old name, as /v1/sources and agents show it."""

    vector_db_provider: str = "native"


class StoredFolder(Stored, Folder):
    """The stored record. `version` counts changes."""

    version: int = 1

    def wire(self) -> Folder:
        """The wire form of a folder."""
        return Folder.model_construct(**self._wire_fields())

    def source(self) -> Source:
        """The wire form of a source."""
        return Source.model_construct(**self._wire_fields())

    def _wire_fields(self) -> JsonObject:
        return {name: getattr(self, name) for name in Folder.model_fields}


class CreateFolder(StrictSchema):
    """The body of POST /v1/folders/."""

    name: Name = Field(min_length=1)
    description: Note | None = None
    instructions: Note | None = None
    metadata: Metadata | None = None
    embedding: Name | None = None
    embedding_config: Small[EmbeddingConfig] | None = None
    embedding_chunk_size: Whole | None = Field(default=None, gt=0)


class UpdateFolder(StrictSchema):
    """The body of PATCH /v1/folders/{id}: null fields change nothing."""

    name: Name | None = Field(default=None, min_length=1)
    description: Note | None = None
    instructions: Note | None = None
    metadata: Metadata | None = None
    embedding_config: Small[EmbeddingConfig] | None = None
