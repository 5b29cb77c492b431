"""Tools (Letta V1 API, API 2.9 and 3)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.domain.tools.sources import tool_sources
from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import plain, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.record_queries import ToolCountQuery, ToolListQuery
from hibernaut.schemas.base import JsonObject, Schema, StrictSchema, Whole
from hibernaut.schemas.ids import ToolId
from hibernaut.schemas.messages.letta_message import ToolReturnMessage
from hibernaut.schemas.tools.generation import GeneratedTool, GenerateTool
from hibernaut.schemas.tools.tool import Tool, ToolCreate, ToolRunFromSource, ToolSearchResult, ToolUpdate
from hibernaut.services.tools.tool_search import SearchMode, ToolQuery, ToolSearch

router = APIRouter(prefix="/v1/tools", tags=["tools"], route_class=LazyRoute)


class SearchTools(StrictSchema):
    """The query of a search for tools."""

    query: str | None = None
    search_mode: SearchMode = "hybrid"
    tool_types: list[str] | None = None
    tags: list[str] | None = None
    limit: Whole = 50

    def to_query(self) -> ToolQuery:
        return ToolQuery(self.query or "", self.search_mode, self.tool_types or (), self.tags or (), self.limit)


class GenerateSchema(Schema):
    """The source of a tool, from which a schema is derived."""

    code: str
    source_type: str | None = None


@router.post("", response_model=Tool)
@router.put("", response_model=Tool)
def save_tool(services: TheServices, caller: TheCaller, request: ToolCreate) -> Response:
    """Create a tool, or change the existing tool with this name."""
    return reply(services.tools.save(request, user=caller.user_id))


@router.get("", response_model=list[Tool])
def list_tools(services: TheServices, query: ToolListQuery) -> Response:
    """A page of tools, including the built-in ones."""
    return replies(services.tools.list(query.filter(), query.page()))


@router.get("/count", response_model=int)
def count_tools(services: TheServices, query: ToolCountQuery) -> Response:
    """The number of tools."""
    return plain(services.tools.count(query.filter()))


@router.post("/search", response_model=list[ToolSearchResult])
def search_tools(services: TheServices, request: SearchTools) -> Response:
    """The tools with the words of the query in their names, descriptions, tags or parameters, best first."""
    return replies(ToolSearch(services.tools).search(request.to_query()))


@router.post("/run", response_model=ToolReturnMessage)
def run_tool_from_source(services: TheServices, caller: TheCaller, request: ToolRunFromSource) -> Response:
    """Run the source of a tool once. Nothing is stored."""
    return reply(services.tools.runs.run_source(request, key_id=caller.key_id))


@router.post("/add-base-tools", response_model=list[Tool])
def add_base_tools(services: TheServices) -> Response:
    """The built-in tools. They always exist, so nothing is created."""
    return replies(services.tools.builtin())


@router.post("/generate-schema", response_model=JsonObject)
def generate_schema(request: GenerateSchema) -> Response:
    """The schema that the source would have as a tool."""
    return plain(tool_sources.derive_schema(request.code, request.source_type))


@router.post("/generate-tool", response_model=GeneratedTool)
def generate_tool(services: TheServices, caller: TheCaller, request: GenerateTool) -> Response:
    """Let a model write a tool in Python. Its source is checked; nothing is stored or run."""
    return reply(services.tool_generation.generate(request, key_id=caller.key_id))


@router.get("/{tool_id}", response_model=Tool)
def retrieve_tool(services: TheServices, tool_id: ToolId) -> Response:
    """One tool."""
    return reply(services.tools.retrieve(tool_id))


@router.patch("/{tool_id}", response_model=Tool)
def update_tool(services: TheServices, caller: TheCaller, tool_id: ToolId, request: ToolUpdate) -> Response:
    """Change the fields that the request sets. A null changes nothing."""
    return reply(services.tools.update(tool_id, request, user=caller.user_id))


@router.delete("/{tool_id}")
def delete_tool(services: TheServices, caller: TheCaller, tool_id: ToolId) -> Response:
    """Delete the tool. It is detached from all agents."""
    services.tools.delete(tool_id, key_id=caller.key_id)
    return plain(None)
