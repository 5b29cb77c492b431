"""Agent files over a `World`: the use cases, and what two files that say the same have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hibernaut.ports.tools.packages import PackageInstaller
from hibernaut.rest.queries.agent_file_bodies import read_agent_file
from hibernaut.schemas.agents.agent_file import ExportAgentRequest, ImportOptions, ImportResult
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.models.model_call import ModelReply, ModelRequest
from hibernaut.services.agent_documents.agent_documents import AgentDocuments
from hibernaut.services.imports.import_writer import ImportWriter
from hibernaut.services.records import records_over
from tests.support.scripted_model import ScriptedModels, calls, says
from tests.support.world import World, data_in

TIMES = frozenset({"created_at", "updated_at", "last_accessed_at", "file_creation_date", "file_last_modified_date"})


class ServedModels(ScriptedModels):
    """Serves handles of `test` alone."""

    def config(self, handle: str) -> LLMConfig:
        if not handle.startswith("test/"):
            raise NotFound(f"NOT_FOUND: Handle {handle} not found")
        return super().config(handle)


def answered(request: ModelRequest, _number: int) -> ModelReply:
    """An answer to every message, in the form that the agent's type asks for."""
    if any(tool.name == "send_message" for tool in request.tools):
        return calls(("send_message", {"message": "Here I am."}))
    return says("Here I am.")


def world_in(folder: Path, **of_world: Any) -> World:
    """A process whose models are few, and say the same to everything."""
    data = data_in(folder, answered)
    data.models = ServedModels(answered)
    return World(data, **of_world)


def documents(world: World, packages: PackageInstaller | None = None) -> AgentDocuments:
    records = records_over(world.stores, world.clock, world.ids)
    writer = ImportWriter(world.stores, world.host)
    return AgentDocuments(
        world.stores, records, models=world.chain.models, writer=writer, packages=packages or world.host.packages
    )


def imported(world: World, document: Any, **options: Any) -> ImportResult:
    if isinstance(document, str):
        document, repaired = read_agent_file(document.encode())
        return documents(world).import_(document, ImportOptions(**options), repaired=repaired)
    return documents(world).import_(document, ImportOptions(**options))


def exported(world: World, agent_id: str, **asked: Any) -> dict[str, Any]:
    return documents(world).export(agent_id, ExportAgentRequest(**asked)).model_dump(mode="json")


def lasting(document: Any) -> Any:
    """A file without times, and without the text of the system message, which shows some."""
    if isinstance(document, list):
        return [lasting(one) for one in document]
    if not isinstance(document, dict):
        return document
    if document.get("type") == "message" and document.get("role") == "system" and document.get("otid") is None:
        document = {**document, "content": None}
    return {name: lasting(one) for name, one in document.items() if name not in TIMES}
