"""Agent files (`.af`): the document, the options of its import and export, and the result (Letta V1 API, API 2.2; RT 12)."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from hibernaut.schemas.base import JsonObject, Moment, Schema, Whole
from hibernaut.schemas.limits import MaxBytes, Name, Small
from hibernaut.schemas.memory.file import UploadTicket

LARGEST_FILE = 50 * 1024 * 1024
"""The largest agent file in bytes. On AWS the body of a request is smaller."""
MOST_AGENTS = 100
"""The largest number of agents in a file."""
MOST_RESERVED_IDS = 30
"""The largest number of agents in an import with `keep_ids`: one transaction reserves their ids."""
MOST_PARTS = 2_000
"""The largest number of tools, blocks, folders, groups, skills or MCP servers in a file."""
MOST_FILES = 10_000
"""The largest number of files of folders in a file."""
LARGEST_SKILL = 4_000_000
"""The largest size of a skill's files, in bytes of JSON."""
MOST_MESSAGES = 200_000
"""The largest number of messages in a file."""


MOST_FILE_PASSAGES = 200_000
"""The largest number of archival passages in a file."""


class AgentFileSkill(Schema):
    """A skill: its files by path, among them SKILL.md, or the address of its source."""

    name: Name = Field(min_length=1)
    files: (
        Annotated[
            dict[str, str], AfterValidator(MaxBytes(LARGEST_SKILL)), Field(json_schema_extra={"x-max-bytes": LARGEST_SKILL})
        ]
        | None
    ) = None
    source_url: Name | None = None

    @model_validator(mode="after")
    def _has_something(self) -> "AgentFileSkill":
        if self.source_url is None and "SKILL.md" not in (self.files or {}):
            raise ValueError("a skill has a file SKILL.md or a source_url")
        return self


class AgentFileSchema(Schema):
    """An agent file. The ids in it are local: a kind and a number, such as `block-0`. An agent names its blocks, tools, folders
    and groups by these ids. `hibernaut`, an extension that V1 ignores: archives with their passages, identities, and further
    conversations of the agents. Docs: `agent-files.md`.
    """

    agents: list[JsonObject]
    groups: list[JsonObject] = Field(default_factory=list)
    blocks: list[JsonObject] = Field(default_factory=list)
    files: list[JsonObject] = Field(default_factory=list)
    sources: list[JsonObject] = Field(default_factory=list)
    tools: list[JsonObject] = Field(default_factory=list)
    mcp_servers: list[JsonObject] = Field(default_factory=list)
    skills: list[JsonObject] = Field(default_factory=list)
    metadata: dict[str, str] = Field(default_factory=dict)
    created_at: Moment | None = None
    hibernaut: JsonObject = Field(default_factory=dict)


class ExportAgentRequest(Schema):
    """The body of POST /v1/agents/{id}/export. Extensions: `full_history`: the whole log, not only the messages in the window;
    `passages`, `conversations` and `identities`: whether they are exported too; null: with `full_history`, and without
    `scrub_messages`.
    """

    conversation_id: Name | None = None
    scrub_messages: bool = False
    skills: list[AgentFileSkill] = Field(default_factory=list, max_length=MOST_PARTS)
    full_history: bool = False
    passages: bool | None = None
    conversations: bool | None = None
    identities: bool | None = None

    def exports(self, what: Literal["passages", "conversations", "identities"]) -> bool:
        """Whether these are exported."""
        choice: bool | None = getattr(self, what)
        return choice if choice is not None else self.full_history and not self.scrub_messages


class ImportOptions(Schema):
    """The options of an import. `name`, `model` and `embedding` apply to every agent of the file; the handles replace those of
    the file.

    `keep_ids`, an extension: records keep the ids of the file, and those that exist here stay as they are, so that a repeated
    import adds nothing.
    """

    override_existing_tools: bool = True
    strip_messages: bool = False
    append_copy_suffix: bool = True
    keep_ids: bool = False
    name: Name | None = None
    model: Name | None = None
    embedding: Name | None = None
    project_id: Name | None = None
    secrets: Small[dict[str, str]] | None = None


class AnnounceAgentFile(Schema):
    """The announcement of an agent file that is too large for the body of a request; its size in bytes."""

    file_size: Whole = Field(ge=1)


class AnnouncedAgentFile(Schema):
    """The ticket for the bytes, and the id by which the import names them for a day."""

    upload_id: str
    upload: UploadTicket


NoteKind = Literal["repaired", "replaced", "left_out"]


class ImportNote(Schema):
    """Something in a file that was not imported as it is. `place`: the first of `count` places."""

    kind: NoteKind
    code: str
    place: str
    count: int = 1
    detail: str


class ImportResult(Schema):
    """The reply to an import: the ids of all agents in the order of the file, and what was repaired, replaced or left out."""

    agent_ids: list[str]
    notes: list[ImportNote] = Field(default_factory=list)
