"""Agent files: the export of an agent, and the import of a file (Letta V1 API, API 2.2)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic_core import to_json

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import JSON, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.agent_file_bodies import BODY, TheImport
from hibernaut.schemas.agents.agent_file import (
    AgentFileSchema,
    AnnounceAgentFile,
    AnnouncedAgentFile,
    ExportAgentRequest,
    ImportResult,
)
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.ids import AgentId

router = APIRouter(prefix="/v1/agents", tags=["agents"], route_class=LazyRoute)
Deprecated = Query(deprecated=True)


@router.post("/import", response_model=ImportResult, openapi_extra=BODY)
def import_agent_file(services: TheServices, caller: TheCaller, body: TheImport) -> Response:
    """Create the agents of an agent file. The reply names what was repaired, replaced or left out. A request that the client
    repeats finds the agents of the first one.
    """
    imports = services.agent_documents
    if body.retry and (earlier_result := imports.repeated(body.digest)) is not None:
        return reply(earlier_result)
    document, options, repaired = body.parsed(imports.uploaded)
    return reply(
        imports.import_(document, options, user=caller.user_id, key_id=caller.key_id, repaired=repaired, digest=body.digest)
    )


@router.post("/import/upload-url", response_model=AnnouncedAgentFile)
def announce_agent_file(services: TheServices, request: AnnounceAgentFile) -> Response:
    """Announce an agent file that is too large for the body of a request. The client sends its bytes to the address in the reply,
    and then imports it by its `upload_id`.
    """
    return reply(services.agent_documents.announce(request))


@router.get("/{agent_id}/export", response_model=AgentFileSchema)
def export_agent(
    services: TheServices,
    agent_id: AgentId,
    conversation_id: str | None = None,
    scrub_messages: bool = False,
    full_history: bool = False,
    passages: bool | None = None,
    conversations: bool | None = None,
    identities: bool | None = None,
    max_steps: Annotated[int, Deprecated] = 100,  # noqa: ARG001 - V1's clients send it
    use_legacy_format: Annotated[bool, Deprecated] = False,
) -> Response:
    """The agent as an agent file: its settings, memory, tools, folders, and the messages in its window, or of its whole log with
    `full_history`. Secrets have names without values. `passages`, `conversations` and `identities` select whether these are
    exported; the default is `full_history`. `max_steps` has no effect.
    """
    if use_legacy_format:
        raise InvalidArgument(
            "INVALID_ARGUMENT: Agents are exported in the current format only; use_legacy_format must be false."
        )
    request = ExportAgentRequest(
        conversation_id=conversation_id,
        scrub_messages=scrub_messages,
        full_history=full_history,
        passages=passages,
        conversations=conversations,
        identities=identities,
    )
    return _file(services.agent_documents.export(agent_id, request))


@router.post("/{agent_id}/export", response_model=AgentFileSchema)
def export_agent_with_skills(services: TheServices, agent_id: AgentId, request: ExportAgentRequest | None = None) -> Response:
    """The agent as an agent file, with the skills of the request and the skills of the agent's own file."""
    return _file(services.agent_documents.export(agent_id, request))


def _file(document: AgentFileSchema) -> Response:
    """Indented by two, as V1 writes it: people read agent files. Without an extension the file has V1's keys alone."""
    excluded = None if document.hibernaut else {"hibernaut"}
    return Response(to_json(document, indent=2, exclude=excluded), media_type=JSON)
