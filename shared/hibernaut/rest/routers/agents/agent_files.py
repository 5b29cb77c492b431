"""The folders and files of one agent (Letta V1 API, API 2.7)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.file_queries import AgentFileListQuery, AgentFolderListQuery
from hibernaut.rest.routers.agents.changed_agent import null_or_state
from hibernaut.schemas.agents.agent import AgentState
from hibernaut.schemas.ids import AgentId, FileId, FolderId
from hibernaut.schemas.memory.file import AgentFilePage
from hibernaut.schemas.memory.folder import Source

router = APIRouter(prefix="/v1/agents/{agent_id}", tags=["agents"], route_class=LazyRoute)


@router.get("/folders", response_model=list[Source])
@router.get("/sources", response_model=list[Source], deprecated=True)
def list_agent_folders(services: TheServices, agent_id: AgentId, query: AgentFolderListQuery) -> Response:
    """A page of the agent's folders."""
    return replies(folder.source() for folder in services.folders.of_agent(agent_id, query.page()))


@router.patch("/folders/attach/{folder_id}", response_model=AgentState | None)
@router.patch("/sources/attach/{folder_id}", response_model=AgentState | None, deprecated=True)
def attach_folder(services: TheServices, caller: TheCaller, agent_id: AgentId, folder_id: FolderId) -> Response:
    """Attach a folder to the agent. Its files are opened up to the agent's limit, and the file tools are attached too."""
    agent = services.agents.updates.attach_folder(agent_id, folder_id, user=caller.user_id, key_id=caller.key_id)
    return null_or_state(services, caller, agent)


@router.patch("/folders/detach/{folder_id}", response_model=AgentState | None)
@router.patch("/sources/detach/{folder_id}", response_model=AgentState | None, deprecated=True)
def detach_folder(services: TheServices, caller: TheCaller, agent_id: AgentId, folder_id: FolderId) -> Response:
    """Detach a folder from the agent. The file tools are detached with the last folder."""
    agent = services.agents.updates.detach_folder(agent_id, folder_id, user=caller.user_id, key_id=caller.key_id)
    return null_or_state(services, caller, agent)


@router.get("/files", response_model=AgentFilePage)
def list_agent_files(services: TheServices, agent_id: AgentId, query: AgentFileListQuery) -> Response:
    """A page of the files of the agent's folders."""
    return reply(services.agent_files.page(agent_id, query.page(), is_open=query.is_open))


@router.patch("/files/close-all", response_model=list[str])
def close_all_files(services: TheServices, agent_id: AgentId) -> Response:
    """Close all files. The reply names the files that were open."""
    return plain(list(services.agent_files.close_all(agent_id)))


@router.patch("/files/{file_id}/open", response_model=list[str])
def open_file(services: TheServices, agent_id: AgentId, file_id: FileId) -> Response:
    """Open a file. The reply names the files that were closed to stay within the limit."""
    return plain(list(services.agent_files.open(agent_id, file_id)))


@router.patch("/files/{file_id}/close")
def close_file(services: TheServices, agent_id: AgentId, file_id: FileId) -> Response:
    """Close a file."""
    services.agent_files.close(agent_id, file_id)
    return plain({"message": f"File id={file_id} successfully closed"})
