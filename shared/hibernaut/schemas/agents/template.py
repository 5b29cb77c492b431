"""Templates: agent files with names and versions, for the creation of agents (Letta V1 API, API 2.17)."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, StringConstraints

from hibernaut.schemas.base import JsonObject, Moment, Schema
from hibernaut.schemas.ids import AgentId
from hibernaut.schemas.limits import Name, Names, Note, Small
from hibernaut.schemas.stored import Stored

MOST_VERSIONS = 500
"""The largest number of versions of a template."""
MOST_INITIAL_MESSAGES = 100
"""The largest number of messages with which the agents of a template begin."""
CURRENT = 0
"""The number of the document that the next save makes a version."""

TemplateName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
BlockReconciliation = Literal["reconcile-all", "preserve-deleted"]


class TemplateFromAgent(Schema):
    """A new template from an agent."""

    type: Literal["agent"]
    agent_id: AgentId
    name: TemplateName | None = None


class TemplateFromFile(Schema):
    """A new template from an agent file. `update_existing_tools`: each creation of agents replaces existing tools with the same
    names.
    """

    type: Literal["agent_file"]
    agent_file: JsonObject
    name: TemplateName | None = None
    update_existing_tools: bool = False


CreateTemplate = Annotated[TemplateFromAgent | TemplateFromFile, Discriminator("type")]


class UpdateTemplate(Schema):
    """The body of PATCH /v1/templates/{name}. `save_existing_changes`: what is current becomes a version first, if it is none."""

    agent_file_json: JsonObject
    save_existing_changes: bool = False
    update_existing_tools: bool = False


class SaveTemplate(Schema):
    """The body of POST /v1/templates/{name}/save. What `preserve_…` does not name is preserved in the agents that are
    migrated.
    """

    message: Note | None = None
    migrate_agents: bool = False
    preserve_core_memories_on_migration: bool = True
    preserve_environment_variables_on_migration: bool = True
    preserve_sources_on_migration: bool = True
    block_reconciliation_strategy: BlockReconciliation = "preserve-deleted"


class RollbackTemplate(Schema):
    """The body of POST /v1/templates/{name}/rollback. `version`: a number, or `latest`."""

    version: Name


class InitialMessage(Schema):
    """A message with which an agent begins."""

    role: Literal["user", "system", "assistant"]
    content: Note
    name: Name | None = None
    otid: Name | None = None
    sender_id: Name | None = None
    batch_item_id: Name | None = None
    group_id: Name | None = None


class CreateTemplateAgents(Schema):
    """The body of POST /v1/templates/{name:version}/agents. `memory_variables` replace `{{name}}` in the values of blocks;
    `tool_variables` are secrets.
    """

    agent_name: Name | None = None
    identity_ids: Names | None = None
    initial_message_sequence: Annotated[list[InitialMessage], Field(max_length=MOST_INITIAL_MESSAGES)] | None = None
    memory_variables: Small[dict[str, str]] | None = None
    tags: Names | None = None
    tool_variables: Small[dict[str, str]] | None = None


class MigrationFault(Schema):
    """An agent that could not be migrated, and why."""

    agent_id: str
    error: str


class MigrationStatus(Schema):
    """The progress of a migration of a template's agents to `version`. `agents`: their number at the start; `skipped`: deleted
    agents, and agents that the version does not contain. `fault`: the reason why the migration failed.
    """

    status: Literal["running", "completed", "failed"]
    version: str
    agents: int
    migrated: int
    skipped: int
    failed: int
    faults: list[MigrationFault] = Field(default_factory=list)
    fault: str | None = None
    began_at: Moment
    over_at: Moment | None = None


class Template(Schema):
    """The wire form. `migration`, an extension: how far the migration is that the request began; null for other requests."""

    id: str
    name: str
    project_id: str
    project_slug: str
    latest_version: str
    template_deployment_slug: str
    updated_at: Moment
    description: str | None = None
    migration: MigrationStatus | None = None


class TemplatePage(Schema):
    """The reply to GET /v1/templates, in the form of letta-client 0.1. `has_next_page`: more templates follow."""

    templates: list[Template]
    has_next_page: bool


class TemplateDetails(Template):
    """A template with what the document of one version asks for. `version`: a number, or `current`. `agents`: the names of its
    agents. `variables`: the names in `{{…}}` in the values of its blocks, in their order.
    """

    version: str
    agents: list[str]
    variables: list[str]


class TemplateOutcome(Schema):
    """The reply to a change that returns no template."""

    success: bool = True
    message: str | None = None


class TemplateAgents(Schema):
    """The reply to the creation of agents."""

    agent_ids: list[str]
    deployment_id: str
    group_id: str | None = None


class TemplateVersion(Schema):
    """A saved version."""

    number: int
    message: str | None = None
    created_at: Moment


class StoredTemplate(Stored):
    """The stored record; its documents are records of their own. `changed`: the current document is not the latest version.
    `version` counts changes of the record.
    """

    id: str
    name: str
    project_id: str | None = None
    versions: list[TemplateVersion]
    changed: bool = False
    update_existing_tools: bool = False
    created_at: Moment
    updated_at: Moment
    version: int = 1

    @property
    def latest(self) -> TemplateVersion:
        return self.versions[-1]

    def wire(self) -> Template:
        """The wire form."""
        project = self.project_id or "default"
        return Template(
            id=self.id,
            name=self.name,
            project_id=project,
            project_slug=project,
            latest_version=str(self.latest.number),
            template_deployment_slug=f"{project}/{self.name}:{self.latest.number}",
            updated_at=self.updated_at,
            description=self.latest.message,
        )


class StoredMigration(Stored):
    """A migration of the agents of a template to the version `number`. `prototypes`: the ids of the prototypes, by their ids in
    the document; empty: not created yet.

    `done_up_to`: the last completed agent, in the order of ids. `current`: the agent in progress, and `had` its earlier blocks.
    `ending`: all agents are completed, and the prototypes are being deleted. `attempts`: the attempts since the last completed
    agent. `version` counts changes of the record.
    """

    template_id: str
    number: int
    how: SaveTemplate
    user: str | None = None
    key_id: str | None = None
    prototypes: dict[str, str] = Field(default_factory=dict)
    done_up_to: str = ""
    current: str = ""
    had: list[str] = Field(default_factory=list)
    agents: int = 0
    migrated: int = 0
    skipped: int = 0
    failed: int = 0
    faults: list[MigrationFault] = Field(default_factory=list)
    fault: str | None = None
    ending: bool = False
    attempts: int = 0
    began_at: Moment
    over_at: Moment | None = None
    version: int = 0

    def wire(self) -> MigrationStatus:
        """The wire form."""
        fields = {name: getattr(self, name) for name in MigrationStatus.model_fields if name not in ("status", "version")}
        status = "running" if self.over_at is None else "completed" if self.fault is None else "failed"
        return MigrationStatus.model_validate({**fields, "status": status, "version": str(self.number)})


class TemplateDocument(Stored):
    """The agent file of a version, or the current one."""

    document: JsonObject
