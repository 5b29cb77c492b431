"""The sandbox configuration and its environment variables (Letta V1 API, API 3)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from hibernaut.domain.wire.listing import Page, page
from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import nothing, replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.base import Schema, Whole
from hibernaut.schemas.tools.sandbox import (
    LocalSandbox,
    SandboxConfig,
    SandboxConfigCreate,
    SandboxConfigId,
    SandboxConfigUpdate,
    SandboxType,
    SandboxVariable,
    SandboxVariableCreate,
    SandboxVariableId,
    SandboxVariableUpdate,
)

router = APIRouter(prefix="/v1/sandbox-config", tags=["sandboxes"], route_class=LazyRoute)


class SandboxList(Schema):
    """A page of sandbox configurations."""

    limit: Whole = Field(default=1000, ge=0)
    after: str | None = None
    sandbox_type: SandboxType | None = None


class SandboxVariableList(Schema):
    """A page of variables, oldest first. `include`: `values` shows their values to a caller who may read secrets."""

    limit: Whole = Field(default=1000, ge=0)
    after: str | None = None
    include: list[str] | None = None


@router.post("", response_model=SandboxConfig)
def create_sandbox_config(services: TheServices, request: SandboxConfigCreate) -> Response:
    """Create the configuration of the tenant, or change the one that exists."""
    return reply(services.sandboxes.set(request.config))


@router.post("/local", response_model=SandboxConfig)
def create_local_sandbox_config(services: TheServices, request: LocalSandbox) -> Response:
    """Create the configuration of the tenant, or change the one that exists."""
    return reply(services.sandboxes.set(request))


@router.post("/local/default", response_model=SandboxConfig)
def default_local_sandbox_config(services: TheServices) -> Response:
    """The configuration of the tenant, which is created if there is none."""
    return reply(services.sandboxes.set())


@router.post("/local/recreate-venv", response_model=SandboxConfig)
def recreate_virtual_environment(services: TheServices) -> Response:
    """The configuration. There is no virtual environment to recreate: packages belong to tools."""
    return reply(services.sandboxes.set())


@router.get("", response_model=list[SandboxConfig])
def list_sandbox_configs(services: TheServices, query: Annotated[SandboxList, Query()]) -> Response:
    """The configuration, if there is one."""
    found = services.sandboxes.all() if query.sandbox_type in (None, "local") else []
    page_query = Page(limit=query.limit, after=query.after, descending=False)
    configs = page(found, page_query, id_of=lambda one: one.id, place=lambda one: one.id)
    return replies(configs)


@router.patch("/environment-variable/{env_var_id}", response_model=SandboxVariable)
def update_sandbox_variable(services: TheServices, env_var_id: SandboxVariableId, request: SandboxVariableUpdate) -> Response:
    """Change a variable. The reply does not contain its value."""
    return reply(services.sandboxes.change(env_var_id, request))


@router.delete("/environment-variable/{env_var_id}", status_code=204)
def delete_sandbox_variable(services: TheServices, env_var_id: SandboxVariableId) -> Response:
    """Delete a variable."""
    services.sandboxes.remove(env_var_id)
    return nothing()


@router.patch("/{sandbox_config_id}", response_model=SandboxConfig)
def update_sandbox_config(services: TheServices, sandbox_config_id: SandboxConfigId, request: SandboxConfigUpdate) -> Response:
    """Change the settings of the configuration."""
    return reply(services.sandboxes.update(sandbox_config_id, request.config))


@router.delete("/{sandbox_config_id}", status_code=204)
def delete_sandbox_config(services: TheServices, sandbox_config_id: SandboxConfigId) -> Response:
    """Delete the configuration with its variables."""
    services.sandboxes.delete(sandbox_config_id)
    return nothing()


@router.post("/{sandbox_config_id}/environment-variable", response_model=SandboxVariable)
def create_sandbox_variable(
    services: TheServices, sandbox_config_id: SandboxConfigId, request: SandboxVariableCreate
) -> Response:
    """Add a variable, which all custom tools get. The reply does not contain its value."""
    return reply(services.sandboxes.add(sandbox_config_id, request))


@router.get("/{sandbox_config_id}/environment-variable", response_model=list[SandboxVariable])
def list_sandbox_variables(
    services: TheServices,
    caller: TheCaller,
    sandbox_config_id: SandboxConfigId,
    query: Annotated[SandboxVariableList, Query()],
) -> Response:
    """The variables, without their values unless `include=values` asks for them and the caller may read secrets."""
    values = caller.reads_secrets and "values" in (query.include or ())
    found = services.sandboxes.variables(sandbox_config_id, values=values)
    page_query = Page(limit=query.limit, after=query.after, descending=False)
    variables = page(found, page_query, id_of=lambda one: one.id, place=lambda one: one.id)
    return replies(variables)
