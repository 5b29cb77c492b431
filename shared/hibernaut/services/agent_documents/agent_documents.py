"""The use cases of agent files: export an agent, import a file."""

from __future__ import annotations

from datetime import timedelta

from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.ports.model import Models
from hibernaut.ports.storage.uploads import Uploads
from hibernaut.ports.tools.packages import PackageInstaller
from hibernaut.schemas.agents.agent_file import (
    LARGEST_FILE,
    AgentFileSchema,
    AnnounceAgentFile,
    AnnouncedAgentFile,
    ExportAgentRequest,
    ImportOptions,
    ImportResult,
)
from hibernaut.schemas.base import Json
from hibernaut.schemas.errors import NotFound, NotImplementedHere, PayloadTooLarge
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.memory.file import UploadTicket
from hibernaut.services.agent_documents.exporting import AgentExports
from hibernaut.services.agent_documents.imported_packages import ImportInstaller
from hibernaut.services.agent_documents.kept_ids import KeptIds
from hibernaut.services.agent_documents.planning import ImportPlanning
from hibernaut.services.imports.import_lines import joined
from hibernaut.services.imports.import_writer import ImportWriter
from hibernaut.services.prompt.file_views import FileViews
from hibernaut.services.records import Records
from hibernaut.services.tools.tool_packages import ToolPackages
from hibernaut.store.stores import TenantStores

GOOD_FOR = timedelta(minutes=15)
"""The validity of an upload ticket: the upload must begin within this time."""
MEDIA_TYPE = "application/json"


class AgentDocuments:
    """Exports and imports the agents of one tenant."""

    def __init__(
        self,
        stores: TenantStores,
        records: Records,
        *,
        models: Models,
        writer: ImportWriter,
        packages: PackageInstaller,
        uploads: Uploads | None = None,
    ) -> None:
        """`packages` installs what imported tools require. `uploads` None: this deployment has no direct uploads."""
        self._tenant = stores.tenant
        self._packages = packages
        self._imports = stores.imports
        self._uploads = uploads
        self._records = records
        self._models = models
        self._writer = writer
        self._exports = AgentExports(records, stores.imports, FileViews(stores), stores.passages)

    def export(self, agent_id: str, request: ExportAgentRequest | None = None) -> AgentFileSchema:
        """The file of an agent. Raises: NotFound (the agent, the conversation), OSError."""
        return self._exports.export(agent_id, request or ExportAgentRequest())

    def import_(
        self,
        document: Json,
        options: ImportOptions | None = None,
        *,
        user: str | None = None,
        key_id: str | None = None,
        repaired: bool = False,
        digest: str = "",
    ) -> ImportResult:
        """Create the agents of a file. All of it is validated before anything is written. `document`: the parsed file, which is
        changed;
        `key_id`: the caller's API key; `repaired`: its text was JSON within a JSON text; `digest`: that of the request, by which
        `repeated` finds the import.

        Raises: InvalidArgument (the document, a name), NotFound (a handle of the options), Conflict (another import of an agent
        whose id is kept), ImportContinues, OSError, StoreUnavailable.
        """
        notes = ImportNotes()
        if repaired:
            notes.add("repaired", "double_encoded", "", "The file was JSON text within a JSON text.")
        settings = options or ImportOptions()
        kept_ids = KeptIds(self._records, notes, self._writer.complete_reserved, keep=settings.keep_ids)
        packages = ToolPackages(self._tenant, ImportInstaller(self._packages, self._records.clock))
        plan = ImportPlanning(self._records, self._models, settings, kept_ids, packages, user=user).planned(document)
        plan.staged.key_id = key_id
        for each in plan.staged.agents:
            self._records.secrets.seal(each.agent.id, each.agent.secrets)
        self._writer.begin(joined(plan.staged, plan.lines), plan.agent_ids, digest, plan.staged.reserved)
        return ImportResult(agent_ids=plan.agent_ids, notes=notes.all())

    def announce(self, announcement: AnnounceAgentFile) -> AnnouncedAgentFile:
        """A ticket for the upload of a file. Raises: NotImplementedHere, PayloadTooLarge, OSError."""
        if self._uploads is None:
            raise NotImplementedHere(
                "Agent files are sent to POST /v1/agents/import here: there is no bucket that takes them from clients."
            )
        if announcement.file_size > LARGEST_FILE:
            raise PayloadTooLarge(f"An agent file may have {LARGEST_FILE} bytes, not {announcement.file_size}.")
        upload_id, until = self._records.ids.new("import"), self._records.clock.now() + GOOD_FOR
        ticket = self._uploads.ticket(
            self._imports.upload_blob(upload_id), size=announcement.file_size, media_type=MEDIA_TYPE, until=until
        )
        upload = UploadTicket(url=ticket.url, headers=dict(ticket.headers), expires_at=ticket.expires_at)
        return AnnouncedAgentFile(upload_id=upload_id, upload=upload)

    def uploaded(self, upload_id: str) -> bytes:
        """The bytes of an announced file. Raises: NotFound, OSError."""
        data = self._imports.uploaded(upload_id) if is_id(upload_id, "import") else None
        if data is None:
            raise NotFound(f"No agent file was uploaded as '{upload_id[:100]}', or more than a day ago")
        return data

    def repeated(self, digest: str) -> ImportResult | None:
        """The result of the same request of the last 15 minutes, without its notes; None if there was none. Raises: as
        `import_`.
        """
        agent_ids = self._writer.repeated(digest)
        return ImportResult(agent_ids=list(agent_ids)) if agent_ids else None
