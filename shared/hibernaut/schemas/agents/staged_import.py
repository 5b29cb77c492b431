"""A validated agent file on its way into the table: the records that it becomes, with their final ids."""

from pydantic import Field

from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.agent_file import AgentFileSkill
from hibernaut.schemas.agents.conversation import Window
from hibernaut.schemas.agents.group import StoredGroup
from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.file import OpenFile, StoredFile
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.schemas.tools.tool import StoredTool


class StagedAgent(Schema):
    """An agent with its conversation. `system_id`: the system message, which is compiled when the agent is written.

    `rows`: the number of its other messages. `last`, `newest`: the end of its log. `in_window`: the number of messages in the window.
    """

    agent: StoredAgent
    system_id: str
    window: Window
    rows: int = 0
    last: str
    newest: list[str] = Field(default_factory=list)
    in_window: int = 1
    managed_group_id: str | None = None
    open_files: dict[str, OpenFile] = Field(default_factory=dict)
    closed_files: dict[str, Moment] = Field(default_factory=dict)


class StagedImport(Schema):
    """All records of an import but its messages and texts of files, which follow line by line: first the messages of all agents, then the text
    of each of `files`. `key_id`: the API key of the request. A tool has its own id unless a tool of its name exists when it is written.
    """

    agents: list[StagedAgent]
    blocks: list[StoredBlock] = Field(default_factory=list)
    tools: list[StoredTool] = Field(default_factory=list)
    folders: list[StoredFolder] = Field(default_factory=list)
    files: list[StoredFile] = Field(default_factory=list)
    groups: list[StoredGroup] = Field(default_factory=list)
    skills: list[AgentFileSkill] = Field(default_factory=list)
    override_tools: bool = True
    key_id: str | None = None


class AgentSkills(Schema):
    """The skills that an agent brought along in its file."""

    skills: list[AgentFileSkill] = Field(default_factory=list)
