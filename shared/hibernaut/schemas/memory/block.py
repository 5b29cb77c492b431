"""A block: one labelled part of core memory (Letta V1 API, API 4.4; RT 4.1)."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from hibernaut.schemas.base import JsonObject, Moment, Schema, Whole
from hibernaut.schemas.limits import LONGEST_TEXT, Metadata, Name, Names, Note
from hibernaut.schemas.names import BlockLabel
from hibernaut.schemas.stored import Stored

DEFAULT_LIMIT = 100_000
"""In characters."""


def _without_null_bytes(text: str) -> str:
    return text.replace("\x00", "")


BlockValue = Annotated[str, AfterValidator(_without_null_bytes)]
NewValue = Annotated[BlockValue, StringConstraints(max_length=LONGEST_TEXT)]
"""The largest value in a request; a stored value may be larger."""


class Block(Schema):
    """A block as stored and on the wire. `limit` counts characters; it applies to edits by tools, not to the API."""

    id: str
    value: BlockValue
    limit: int = DEFAULT_LIMIT
    label: str | None = None
    description: str | None = None
    read_only: bool = False
    metadata: JsonObject | None = Field(default_factory=dict)
    tags: list[str] = Field(default_factory=list)
    hidden: bool | None = None
    project_id: str | None = None
    template_name: str | None = None
    is_template: bool = False
    template_id: str | None = None
    base_template_id: str | None = None
    deployment_id: str | None = None
    entity_id: str | None = None
    preserve_on_migration: bool | None = False
    created_by_id: str | None = None
    last_updated_by_id: str | None = None


class FileBlock(Block):
    """A file as an agent's memory shows it: its value is the window that is open on it, and empty where it is closed."""

    file_id: str
    source_id: str
    is_open: bool
    last_accessed_at: Moment | None = None


class StoredBlock(Stored, Block):
    """The stored record, with fields that the wire form lacks. `version` counts changes; a step's transaction checks it."""

    version: int = 1
    created_at: Moment
    updated_at: Moment
    identity_ids: list[str] = Field(default_factory=list)

    def wire(self) -> Block:
        """The form that clients see. Fields are shared with the record, not copied."""
        return Block.model_construct(**{name: getattr(self, name) for name in Block.model_fields})


class CreateBlock(Schema):
    """The body of POST /v1/blocks/ and of an agent's `memory_blocks`."""

    label: BlockLabel
    value: NewValue
    limit: Whole = DEFAULT_LIMIT
    description: Note | None = None
    read_only: bool = False
    metadata: Metadata | None = Field(default_factory=dict)
    tags: Names | None = None
    hidden: bool | None = None
    project_id: Name | None = None
    template_name: Name | None = None
    is_template: bool = False
    template_id: Name | None = None
    base_template_id: Name | None = None
    deployment_id: Name | None = None
    entity_id: Name | None = None
    preserve_on_migration: bool | None = False


class BlockUpdate(Schema):
    """The body of PATCH; absent and null fields change nothing (API 2.10). `current_version`, an extension: the version on
    which the caller decided; if the block has another one, the answer is 409.
    """

    value: NewValue | None = None
    limit: Whole | None = None
    label: BlockLabel | None = None
    description: Note | None = None
    read_only: bool | None = None
    metadata: Metadata | None = None
    tags: Names | None = None
    hidden: bool | None = None
    project_id: Name | None = None
    template_name: Name | None = None
    is_template: bool | None = None
    template_id: Name | None = None
    base_template_id: Name | None = None
    deployment_id: Name | None = None
    entity_id: Name | None = None
    preserve_on_migration: bool | None = None
    current_version: int | None = Field(default=None, ge=1, le=2**53)
