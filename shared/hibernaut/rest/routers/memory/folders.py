"""Folders and their files (Letta V1 API, API 2.12 and 3)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Response, UploadFile

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.file_queries import (
    FolderAgentListQuery,
    FolderFileListQuery,
    FolderListQuery,
    FolderPassageListQuery,
    SourceAgentListQuery,
    SourceListQuery,
    UploadQueryString,
)
from hibernaut.schemas.ids import FileId, FolderId
from hibernaut.schemas.memory.file import AnnouncedUpload, AnnounceUpload, FileMetadata
from hibernaut.schemas.memory.folder import CreateFolder, Folder, Source, UpdateFolder
from hibernaut.schemas.memory.passage import Passage
from hibernaut.services.files.files import Upload

UploadedFile = Annotated[UploadFile, File()]
router = APIRouter(prefix="/v1/folders", tags=["folders"], route_class=LazyRoute)
sources = APIRouter(prefix="/v1/sources", tags=["sources"], route_class=LazyRoute)
"""The routes of folders under their old name: the same records with the same ids. A list without `limit` shows all entries."""


@router.post("", response_model=Folder)
def create_folder(services: TheServices, caller: TheCaller, request: CreateFolder) -> Response:
    """Create a folder. Its name must be unique."""
    return reply(services.folders.create(request, user=caller.user_id).wire())


@sources.post("", response_model=Source, deprecated=True)
def create_source(services: TheServices, caller: TheCaller, request: CreateFolder) -> Response:
    """Create a folder, by the old name of the resource."""
    return reply(services.folders.create(request, user=caller.user_id).source())


@router.get("", response_model=list[Folder])
def list_folders(services: TheServices, query: FolderListQuery) -> Response:
    """A page of folders."""
    return replies(folder.wire() for folder in services.folders.list(query.name, query.page()))


@sources.get("", response_model=list[Source], deprecated=True)
def list_sources(services: TheServices, query: SourceListQuery) -> Response:
    """All folders, by the old name of the resource."""
    return replies(folder.source() for folder in services.folders.list(query.name, query.page()))


@router.get("/count", response_model=int)
@sources.get("/count", response_model=int, deprecated=True)
def count_folders(services: TheServices) -> Response:
    """The number of folders."""
    return plain(services.folders.count())


@router.get("/name/{folder_name}", response_model=str, deprecated=True)
@sources.get("/name/{folder_name}", response_model=str, deprecated=True)
def find_folder(services: TheServices, folder_name: str) -> Response:
    """The id of the folder with this name."""
    return plain(services.folders.by_name(folder_name))


@router.get("/{folder_id}", response_model=Folder)
def retrieve_folder(services: TheServices, folder_id: FolderId) -> Response:
    """One folder."""
    return reply(services.folders.retrieve(folder_id).wire())


@sources.get("/{folder_id}", response_model=Source, deprecated=True)
def retrieve_source(services: TheServices, folder_id: FolderId) -> Response:
    """One folder, by the old name of the resource."""
    return reply(services.folders.retrieve(folder_id).source())


@router.patch("/{folder_id}", response_model=Folder)
def update_folder(services: TheServices, caller: TheCaller, folder_id: FolderId, request: UpdateFolder) -> Response:
    """Change the fields that the request sets. A null changes nothing."""
    return reply(services.folders.update(folder_id, request, user=caller.user_id).wire())


@sources.patch("/{folder_id}", response_model=Source, deprecated=True)
def update_source(services: TheServices, caller: TheCaller, folder_id: FolderId, request: UpdateFolder) -> Response:
    """Change a folder, by the old name of the resource."""
    return reply(services.folders.update(folder_id, request, user=caller.user_id).source())


@router.delete("/{folder_id}")
@sources.delete("/{folder_id}", deprecated=True)
def delete_folder(services: TheServices, caller: TheCaller, folder_id: FolderId) -> Response:
    """Delete the folder with its files. It is detached from all agents."""
    services.folders.delete(folder_id, key_id=caller.key_id)
    return plain(None)


@router.post("/{folder_id}/upload", response_model=FileMetadata)
@sources.post("/{folder_id}/upload", response_model=FileMetadata, deprecated=True)
def upload_file(services: TheServices, folder_id: FolderId, query: UploadQueryString, file: UploadedFile) -> Response:
    """Upload a file. The server reads it in the background; the file's status shows the progress."""
    upload = Upload(file.file, file.filename or "", file.content_type, query.name)
    uploaded = services.files.upload(folder_id, upload, query.duplicate_handling)
    response = reply(uploaded.file)
    response.headers["X-Upload-Result"] = "skipped" if uploaded.skipped else "uploaded"
    return response


@router.post("/{folder_id}/upload-url", response_model=AnnouncedUpload)
def announce_upload(services: TheServices, folder_id: FolderId, request: AnnounceUpload) -> Response:
    """Announce a file that is too large for this API. The reply has the address to which the client uploads its bytes."""
    return reply(services.upload_tickets.announce(folder_id, request))


@router.get("/{folder_id}/agents", response_model=list[str])
def list_folder_agents(services: TheServices, folder_id: FolderId, query: FolderAgentListQuery) -> Response:
    """A page of the ids of the agents that have the folder."""
    return plain(list(services.folders.agents(folder_id, query.page())))


@sources.get("/{folder_id}/agents", response_model=list[str], deprecated=True)
def list_source_agents(services: TheServices, folder_id: FolderId, query: SourceAgentListQuery) -> Response:
    """The ids of all agents that have the folder."""
    return list_folder_agents(services, folder_id, query)


@router.get("/{folder_id}/passages", response_model=list[Passage])
@sources.get("/{folder_id}/passages", response_model=list[Passage], deprecated=True)
def list_folder_passages(services: TheServices, folder_id: FolderId, query: FolderPassageListQuery) -> Response:
    """A page of the pieces (passages) of the folder's files."""
    return replies(services.files.passages(folder_id, query.page()))


@router.get("/{folder_id}/files", response_model=list[FileMetadata])
@sources.get("/{folder_id}/files", response_model=list[FileMetadata], deprecated=True)
def list_folder_files(services: TheServices, folder_id: FolderId, query: FolderFileListQuery) -> Response:
    """A page of the folder's files."""
    return replies(services.files.page(folder_id, query.page(), content=query.include_content))


@router.get("/{folder_id}/files/{file_id}", response_model=FileMetadata)
@sources.get("/{folder_id}/files/{file_id}", response_model=FileMetadata, deprecated=True)
def retrieve_file(services: TheServices, folder_id: FolderId, file_id: FileId, include_content: bool = False) -> Response:
    """One file, with its text if `include_content` is set."""
    return reply(services.files.retrieve(folder_id, file_id, content=include_content))


@router.delete("/{folder_id}/{file_id}", status_code=204)
@sources.delete("/{folder_id}/{file_id}", status_code=204, deprecated=True)
def delete_file(services: TheServices, folder_id: FolderId, file_id: FileId) -> Response:
    """Delete a file with everything that is derived from it."""
    services.files.delete(folder_id, file_id)
    return Response(status_code=204)
