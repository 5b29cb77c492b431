"""Folders: create, update, list and delete them (Letta V1 API, API 2.12). Their files have a module of their own."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.files.file_texts import LONGEST_NAME
from hibernaut.domain.wire.listing import Page, page
from hibernaut.ports.model import Models
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.memory.folder import CreateFolder, StoredFolder, UpdateFolder
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from hibernaut.services.agents.agent_updates import AgentUpdates
from hibernaut.services.agents.agents import linked
from hibernaut.services.files.files import Files
from hibernaut.services.models.embedding_choice import chosen_embedding
from hibernaut.services.records import Records

_UPDATABLE = ("name", "description", "instructions", "metadata", "embedding_config")


class Folders:
    """The use cases of folders."""

    def __init__(self, records: Records, *, models: Models, files: Files, agents: AgentUpdates) -> None:
        self._records = records
        self._models = models
        self._files = files
        self._agents = agents

    def create(self, request: CreateFolder, *, user: str | None = None) -> StoredFolder:
        """Create a folder. Raises: InvalidArgument (the name), NotFound (the embedding's handle), Conflict (the name is
        taken).
        """
        now = self._records.clock.now()
        folder = StoredFolder(
            id=self._records.ids.new("source"),
            name=_checked(request.name),
            description=request.description,
            instructions=request.instructions,
            metadata=request.metadata,
            embedding_config=chosen_embedding(request, self._models),
            created_by_id=user,
            last_updated_by_id=user,
            created_at=now,
            updated_at=now,
        )
        token = self._records.ids.token()
        try:
            self._records.writer.write(*self._records.folders.create(folder, token), token=token)
        except ConditionFailed:
            raise _name_conflict(folder.name) from None
        return folder

    def retrieve(self, folder_id: str) -> StoredFolder:
        """The folder. Raises: NotFound."""
        return self._records.folder(folder_id)

    def by_name(self, name: str) -> str:
        """The id of the folder with this name. Raises: NotFound."""
        found = self._records.folders.by_name(name)
        if found is None:
            raise NotFound(f"Source with name={name} not found.")
        return found

    def list(self, name: str | None, page_query: Page) -> Sequence[StoredFolder]:
        """A page of the folders (`name`: only the one with this name), by creation time. Raises: NotFound for a cursor."""
        if name is not None:
            id_of_name = self._records.folders.by_name(name) if 0 < len(name) <= LONGEST_NAME else None
            folder = self._records.folders.get(id_of_name) if id_of_name else None
            return page([folder] if folder else [], page_query, id_of=lambda one: one.id, place=lambda one: one.id)
        ids = [str(row["sk"]) for row in self._records.folders.listed().page(page_query)]
        found = self._records.folders.get_many(ids)
        return [found[folder_id] for folder_id in ids if folder_id in found]

    def count(self) -> int:
        """The number of folders of the tenant."""
        return self._records.folders.listed().count()

    def of_agent(self, agent_id: str, page_query: Page) -> Sequence[StoredFolder]:
        """A page of the folders that are attached to an agent. Raises: NotFound for the agent or a cursor."""
        agent = self._records.agent(agent_id)
        folders = list(self._records.folders.get_many(agent.source_ids).values())
        return page(folders, page_query, id_of=lambda folder: folder.id, place=lambda folder: str(folder.created_at))

    def agents(self, folder_id: str, page_query: Page) -> Sequence[str]:
        """A page of the ids of the agents that the folder is attached to. Raises: NotFound for the folder or a cursor."""
        self._records.folder(folder_id)
        return linked(self._records, self._records.folders.links(folder_id), page_query)

    def update(self, folder_id: str, request: UpdateFolder, *, user: str | None = None) -> StoredFolder:
        """Apply the fields that are not null.

        Raises: NotFound, InvalidArgument, Conflict (the new name is taken, or the embedding model would change).
        """
        changes = {name: value for name in _UPDATABLE if (value := getattr(request, name)) is not None}

        def attempt() -> StoredFolder:
            before = self._records.folder(folder_id)
            if not changes:
                return before
            _refuse_other_embedding(before, request.embedding_config)
            if self._records.folders.by_name(_checked(changes.get("name", before.name))) not in (None, folder_id):
                raise _name_conflict(changes["name"])
            stamps = {"updated_at": self._records.clock.now(), "last_updated_by_id": user or before.last_updated_by_id}
            after = before.model_copy(update={**changes, **stamps})
            token = self._records.ids.token()
            self._records.writer.write(*self._records.folders.change(before, after, token), token=token)
            return after

        return self._records.until_settled(attempt)

    def delete(self, folder_id: str, *, key_id: str | None = None) -> None:
        """Detach the folder from its agents, delete its files, then the folder. While it is listed, a second call resumes.
        `key_id`: the caller's API key.

        Raises: NotFound, Conflict.
        """
        self._records.folder(folder_id)
        self._clear(folder_id, key_id)
        self._records.until_settled(lambda: self._delete(folder_id))
        self._clear(folder_id, key_id)

    def _delete(self, folder_id: str) -> None:
        folder = self._records.folders.get(folder_id)
        if folder is not None:
            token = self._records.ids.token()
            self._records.writer.write(*self._records.folders.delete(folder), token=token)

    def _clear(self, folder_id: str, key_id: str | None) -> None:
        self._agents.lose_folder(self._records.folders.agents_of(folder_id), folder_id, key_id=key_id)
        self._files.delete_all(folder_id)


def _refuse_other_embedding(folder: StoredFolder, config: EmbeddingConfig | None) -> None:
    """Refuse another embedding model: a query vector of one model does not match document vectors of another. Raises:
    Conflict.
    """
    if config is None:
        return
    before = folder.embedding_config
    if before is None or (config.embedding_model, config.embedding_dim) != (before.embedding_model, before.embedding_dim):
        raise Conflict(
            "CONFLICT: A folder keeps the embedding model that it was made with. Make another folder for another model."
        )


def _checked(name: str) -> str:
    if not name.strip() or len(name.encode("utf-8", "replace")) > LONGEST_NAME or any(ord(mark) < 0x20 for mark in name):
        raise InvalidArgument(f"INVALID_ARGUMENT: A folder needs a name of 1 to {LONGEST_NAME} bytes without control characters.")
    return name


def _name_conflict(name: str) -> Conflict:
    return Conflict(f"CONFLICT: A folder called '{name}' already exists.")
