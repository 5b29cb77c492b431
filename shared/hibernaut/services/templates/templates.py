"""Templates: make one from an agent or an agent file, save versions of it, roll back, and make agents from a version (Letta V1
API, API 2.17).

A template holds agent files without messages (`services.agent_documents`). Must not know how a file becomes agents.
"""

from __future__ import annotations

from copy import deepcopy

from hibernaut.domain.agents.agent_names import default_name
from hibernaut.ports.storage.table import MAX_CHANGES, Change, ConditionFailed
from hibernaut.schemas.agents.agent_file import AgentFileSchema, ExportAgentRequest
from hibernaut.schemas.agents.template import (
    CURRENT,
    MOST_VERSIONS,
    CreateTemplateAgents,
    MigrationStatus,
    RollbackTemplate,
    SaveTemplate,
    StoredTemplate,
    Template,
    TemplateAgents,
    TemplateDetails,
    TemplateFromAgent,
    TemplateFromFile,
    TemplatePage,
    TemplateVersion,
    UpdateTemplate,
)
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.services.agent_documents.agent_documents import AgentDocuments
from hibernaut.services.records import Records
from hibernaut.services.templates.template_agents import TemplateAgentsFactory, variables_of
from hibernaut.services.templates.template_migration import TemplateMigration
from hibernaut.store.stores import TenantStores
from hibernaut.store.templates.templates import TemplateStore

_WORKING = ("current", "dev")
"""The names of the document that is no version yet."""


class Templates:
    """The use cases of templates."""

    def __init__(
        self,
        records: Records,
        store: TemplateStore,
        documents: AgentDocuments,
        *,
        factory: TemplateAgentsFactory,
        migration: TemplateMigration,
    ) -> None:
        self._records = records
        self._store = store
        self._documents = documents
        self._factory = factory
        self._migration = migration

    def page(
        self, *, after: str | None = None, offset: int = 0, limit: int, name: str | None = None, part: str = ""
    ) -> TemplatePage:
        """Templates in the alphabetical order of their names, after one of them, without the first `offset`. `name`: the one
        with this name alone; `part`: those whose names contain it.
        """
        if name is not None:
            found = self._store.named(name)
            return TemplatePage(templates=[found.wire()] if found is not None else [], has_next_page=False)
        page, more = self._store.page(after or "", skip=offset, limit=limit, part=part)
        return TemplatePage(templates=[template.wire() for template in page], has_next_page=more)

    def details(self, version: str) -> TemplateDetails:
        """A template and the inputs of one of its versions: `name:version`, or `name` for the latest one. Raises: NotFound."""
        template, number = self._version(version)
        document = self._document(template, number)
        return TemplateDetails(
            **template.wire().model_dump(),
            version=str(number) if number != CURRENT else _WORKING[0],
            agents=[str(agent.get("name") or "") for agent in document["agents"]],
            variables=variables_of(document),
        )

    def create(self, request: TemplateFromAgent | TemplateFromFile, *, project_id: str | None = None) -> Template:
        """Make a template, whose first version is saved at once. Raises: NotFound (the agent), InvalidArgument (the file),
        Conflict (the name is taken).
        """
        if isinstance(request, TemplateFromAgent):
            export_request = ExportAgentRequest(scrub_messages=True)
            document = self._documents.export(request.agent_id, export_request).model_dump(mode="json")
            replaces, source = False, request.agent_id
        else:
            document, replaces, source = request.agent_file, request.update_existing_tools, ""
        document = without_messages(document)
        now, template_id = self._records.clock.now(), self._records.ids.new("template")
        template = StoredTemplate(
            id=template_id,
            name=request.name or default_name(int(template_id[-12:], 16) >> 7),
            project_id=project_id,
            versions=[TemplateVersion(number=1, created_at=now)],
            update_existing_tools=replaces,
            created_at=now,
            updated_at=now,
        )
        token = self._records.ids.token()
        try:
            self._records.writer.write(*self._store.create(template, document, token, source), token=token)
        except ConditionFailed:
            raise Conflict(f"CONFLICT: A template called '{template.name}' already exists.") from None
        return template.wire()

    def update(self, name: str, request: UpdateTemplate) -> None:
        """Replace the current document. Raises: NotFound, InvalidArgument (the file), Conflict."""
        document = without_messages(request.agent_file_json)
        if request.save_existing_changes and self._by_name(name).changed:
            self.save(name, SaveTemplate())
        self._set_current(name, document, {"changed": True, "update_existing_tools": request.update_existing_tools})

    def save(self, name: str, request: SaveTemplate, *, user: str | None = None, key_id: str | None = None) -> Template:
        """Make the current document the next version, and migrate the agents of the template if the request says so: the first
        ones at once, the others in the background. `key_id`: the caller's API key. Raises: NotFound, Conflict, InvalidArgument
        (too many versions; the document).
        """

        def attempt() -> StoredTemplate:
            before = self._by_name(name)
            if len(before.versions) >= MOST_VERSIONS:
                raise InvalidArgument(f"INVALID_ARGUMENT: A template has at most {MOST_VERSIONS} versions; {name} has as many.")
            document = self._document(before, CURRENT)
            version = TemplateVersion(
                number=before.latest.number + 1, message=request.message, created_at=self._records.clock.now()
            )
            changes = {"versions": [*before.versions, version], "changed": False}
            after, token = before.model_copy(update=changes), self._records.ids.token()
            further: list[Change] = [self._store.add_version(before.id, version.number, document)]
            if request.migrate_agents:
                further.append(self._migration.begun(after, request, user=user, key_id=key_id, token=token))
            self._write(before, changes, *further, token=token)
            return after

        template = self._records.until_settled(attempt)
        if not request.migrate_agents:
            return template.wire()
        return template.wire().model_copy(update={"migration": self._migration.first(template).wire()})

    def migration(self, name: str) -> MigrationStatus:
        """How far the newest migration of a template's agents is. Raises: NotFound."""
        return self._migration.status(self._by_name(name)).wire()

    def roll_back(self, name: str, request: RollbackTemplate) -> None:
        """Make the document of a version the current one. Raises: NotFound (the template, the version), InvalidArgument,
        Conflict.
        """
        if request.version in _WORKING:
            raise InvalidArgument("INVALID_ARGUMENT: A template is rolled back to a saved version: a number, or `latest`.")
        template = self._by_name(name)
        number = self._number(template, request.version)
        document = self._document(template, number)
        self._set_current(name, document, {"changed": number != template.latest.number})

    def _set_current(self, name: str, document: JsonObject, changes: JsonObject) -> None:
        def attempt() -> None:
            before = self._by_name(name)
            stored_document = self._store.document(before.id, CURRENT)
            self._write(before, changes, self._store.set_current(before.id, stored_document, document))

        self._records.until_settled(attempt)

    def _write(self, before: StoredTemplate, changes: JsonObject, *further: Change, token: str = "") -> None:
        after = before.model_copy(update={**changes, "updated_at": self._records.clock.now()})
        token = token or self._records.ids.token()
        self._records.writer.write(self._store.change(before, after, token), *further, token=token)

    def delete(self, name: str) -> None:
        """Delete a template with its versions. Its agents remain. Raises: NotFound, Conflict."""

        def attempt() -> StoredTemplate:
            template = self._by_name(name)
            self._records.writer.write(*self._store.delete(template))
            return template

        template_id = self._records.until_settled(attempt).id
        self._migration.forget(template_id)
        documents = self._store.documents(template_id)
        for start in range(0, len(documents), MAX_CHANGES):
            self._records.writer.write(*documents[start : start + MAX_CHANGES])

    def create_agents(
        self, version: str, request: CreateTemplateAgents, *, user: str | None = None, key_id: str | None = None
    ) -> TemplateAgents:
        """Make the agents of a version, `name:version` or `name` for the latest one. `key_id`: the caller's API key. Raises:
        NotFound (the template, the version, an identity), InvalidArgument.
        """
        template, number = self._version(version)
        document = self._document(template, number)
        return self._factory.make(template, deepcopy(document), request, user=user, key_id=key_id)

    def _version(self, version: str) -> tuple[StoredTemplate, int]:
        name, _, number = version.partition(":")
        template = self._by_name(name)
        return template, self._number(template, number or "latest")

    def _by_name(self, name: str) -> StoredTemplate:
        template = self._store.named(name)
        if template is None:
            raise NotFound(f"Template '{name}' not found.")
        return template

    def _number(self, template: StoredTemplate, version: str) -> int:
        if version in _WORKING:
            return CURRENT
        numbers = {str(each.number): each.number for each in template.versions}
        if version == "latest":
            return template.latest.number
        if version not in numbers:
            raise NotFound(
                f"Template '{template.name}' has no version '{version[:40]}'; the latest one is {template.latest.number}."
            )
        return numbers[version]

    def _document(self, template: StoredTemplate, number: int) -> JsonObject:
        found = self._store.document(template.id, number)
        if found is None:
            raise NotFound(f"Template '{template.name}' was deleted meanwhile.")
        return found.document


def without_messages(document: JsonObject) -> JsonObject:
    """The agent file without the messages of its agents. Raises: InvalidArgument if it is none, or has no agent."""
    try:
        agents = AgentFileSchema.model_validate(document).agents
    except ValueError as error:
        raise InvalidArgument(f"INVALID_ARGUMENT: This is no agent file: {error}") from None
    if not agents:
        raise InvalidArgument("INVALID_ARGUMENT: A template needs an agent file with at least one agent.")
    bare = [{**agent, "messages": [], "in_context_message_ids": []} for agent in agents]
    return {**document, "agents": bare}


def templates_over(
    stores: TenantStores, records: Records, documents: AgentDocuments, *, migration: TemplateMigration
) -> Templates:
    """The use cases of templates of one tenant."""
    return Templates(
        records,
        stores.templates,
        documents,
        factory=TemplateAgentsFactory(records, documents),
        migration=migration,
    )
