"""Passages, which are entries of archival memory, and their archives (Letta V1 API, API 4.10); their requests (2.8, 2.11)."""

from typing import Annotated

from pydantic import Field, PrivateAttr

from hibernaut.schemas.base import JsonObject, Moment, Schema
from hibernaut.schemas.ids import ArchiveId, PassageId
from hibernaut.schemas.limits import Metadata, Name, Note, Small, Text
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from hibernaut.schemas.names import PassageTag
from hibernaut.schemas.stored import Stored

MOST_PASSAGES = 10_000
"""The largest number of passages in one batch."""


class Passage(Schema):
    """An entry of archival memory, or a piece of a file."""

    id: str
    text: str
    embedding: list[float] | None = None
    embedding_config: EmbeddingConfig | None = None
    archive_id: str | None = None
    source_id: str | None = None
    file_id: str | None = None
    file_name: str | None = None
    metadata: JsonObject | None = Field(default_factory=dict)
    tags: list[str] | None = None
    is_deleted: bool = False
    created_at: Moment
    updated_at: Moment | None = None
    created_by_id: str | None = None
    last_updated_by_id: str | None = None
    _life: int = PrivateAttr(default=0)

    @property
    def life(self) -> int:
        """How often the passage was deleted and brought back."""
        return self._life


class Archive(Schema):
    """A collection of passages. An agent's default archive has the agent's uuid."""

    id: str
    name: str
    description: str | None = None
    vector_db_provider: str = "native"
    embedding_config: EmbeddingConfig | None = None
    metadata: JsonObject | None = None
    created_at: Moment
    created_by_id: str | None = None
    last_updated_by_id: str | None = None
    updated_at: Moment | None = None


class StoredArchive(Stored, Archive):
    """The stored record. `version` counts the changes of name and description."""

    version: int = Field(default=1, exclude=True)


class CreateArchive(Schema):
    """The body of POST /v1/archives/. Without an embedding, the deployment's default applies, if there is one. `id`, an
    extension: an archive that has this id already is returned as it is.
    """

    id: ArchiveId | None = None
    name: Name
    description: Note | None = None
    embedding: Name | None = None
    embedding_config: Small[EmbeddingConfig] | None = None


class UpdateArchive(Schema):
    """The body of PATCH /v1/archives/{id}: null fields change nothing."""

    name: Name | None = None
    description: Note | None = None


class CreatePassage(Schema):
    """The body of POST /v1/archives/{id}/passages, and (without `metadata`) of POST /v1/agents/{id}/archival-memory."""

    text: Text
    metadata: Metadata | None = None
    tags: Small[list[PassageTag]] | None = None
    created_at: Moment | None = None


class IdentifiedPassage(CreatePassage):
    """A passage of a batch. `id`, an extension: it begins with the milliseconds of `created_at`, which order the passages. An
    existing passage with this id stays unchanged, and a deleted passage is not restored.
    """

    id: PassageId | None = None


class CreatePassages(Schema):
    """The body of POST /v1/archives/{id}/passages/batch."""

    passages: Annotated[list[IdentifiedPassage], Field(max_length=MOST_PASSAGES)]


def default_archive_id(agent_id: str) -> str:
    """The id of the archive that an agent's first insert creates. It is derived, so that finding it needs no look-up."""
    return f"archive-{agent_id[-36:]}"
