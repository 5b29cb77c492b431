"""A validated agent file on its way into the table: the records that it becomes, with their final ids."""

from pydantic import Field

from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.agent_file import AgentFileSkill
from hibernaut.schemas.agents.conversation import Window
from hibernaut.schemas.agents.conversation_record import StoredConversation
from hibernaut.schemas.agents.group import StoredGroup
from hibernaut.schemas.agents.identity import StoredIdentity
from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.file import OpenFile, StoredFile
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.schemas.memory.passage import StoredArchive
from hibernaut.schemas.tools.tool import StoredTool


class StagedLog(Schema):
    """The log of a conversation. `system_id`: the system message, which is compiled when the conversation is written.

    `rows`: the number of its other messages. `last`, `newest`: the end of its log. `in_window`: the number of messages in the
    window.
    """

    system_id: str
    window: Window = Field(default_factory=Window)
    rows: int = 0
    last: str = ""
    newest: list[str] = Field(default_factory=list)
    in_window: int = 1


class StagedConversation(StagedLog):
    """A further conversation of an agent. `sent`: the time of its newest message; null: it has none."""

    record: StoredConversation
    sent: Moment | None = None


class StagedArchive(Schema):
    """An archive, and the number of its passages."""

    archive: StoredArchive
    passages: int = 0


class StagedAgent(StagedLog):
    """An agent with its default conversation, and its further ones."""

    agent: StoredAgent
    conversations: list[StagedConversation] = Field(default_factory=list)
    archive_ids: list[str] = Field(default_factory=list)
    managed_group_id: str | None = None
    open_files: dict[str, OpenFile] = Field(default_factory=dict)
    closed_files: dict[str, Moment] = Field(default_factory=dict)


class StagedImport(Schema):
    """All records of an import except messages, texts of files and passages. These follow line by line: the messages of all
    agents, the messages of their further conversations, the text of each of `files`, and the passages of all `archives`. An
    identity keeps its own id unless its key exists already at the time of the write. A tool keeps its own id unless its name
    exists already. `key_id`: the API key of the request.
    `reserved`: the agents that keep their ids.
    """

    agents: list[StagedAgent]
    blocks: list[StoredBlock] = Field(default_factory=list)
    tools: list[StoredTool] = Field(default_factory=list)
    folders: list[StoredFolder] = Field(default_factory=list)
    files: list[StoredFile] = Field(default_factory=list)
    groups: list[StoredGroup] = Field(default_factory=list)
    archives: list[StagedArchive] = Field(default_factory=list)
    identities: list[StoredIdentity] = Field(default_factory=list)
    skills: list[AgentFileSkill] = Field(default_factory=list)
    override_tools: bool = True
    key_id: str | None = None
    reserved: list[str] = Field(default_factory=list)


class AgentSkills(Schema):
    """The skills from the file of an imported agent."""

    skills: list[AgentFileSkill] = Field(default_factory=list)
