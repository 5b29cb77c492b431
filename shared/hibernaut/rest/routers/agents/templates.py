"""Templates (Letta V1 API, API 2.17)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import created, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.template_queries import TemplateListQuery
from hibernaut.schemas.agents.template import (
    CreateTemplate,
    CreateTemplateAgents,
    MigrationStatus,
    RollbackTemplate,
    SaveTemplate,
    Template,
    TemplateAgents,
    TemplateDetails,
    TemplateName,
    TemplateOutcome,
    TemplatePage,
    UpdateTemplate,
)

router = APIRouter(prefix="/v1/templates", tags=["templates"], route_class=LazyRoute)


@router.get("", response_model=TemplatePage)
def list_templates(services: TheServices, query: TemplateListQuery) -> Response:
    """Templates in the alphabetical order of their names."""
    page = services.templates.page(after=query.after, offset=query.offset, limit=query.limit, name=query.named, part=query.search)
    return reply(page)


@router.get("/{template_version}", response_model=TemplateDetails)
def retrieve_template(services: TheServices, template_version: str) -> Response:
    """A template, and the variables and agents of a version, `name:version`; `name` alone is the latest one."""
    return reply(services.templates.details(template_version))


@router.post("", response_model=Template, status_code=201)
def create_template(
    services: TheServices, request: CreateTemplate, x_project_id: Annotated[str | None, Header()] = None
) -> Response:
    """Make a template from an agent or from an agent file. Its first version is saved at once."""
    return created(services.templates.create(request, project_id=x_project_id))


@router.patch("/{template_name}", response_model=TemplateOutcome)
def update_template(services: TheServices, template_name: TemplateName, request: UpdateTemplate) -> Response:
    """Replace the current document of a template by an agent file. Saving makes it a version."""
    services.templates.update(template_name, request)
    return reply(TemplateOutcome())


@router.delete("/{template_name}", response_model=TemplateOutcome)
def delete_template(services: TheServices, template_name: TemplateName) -> Response:
    """Delete a template with its versions. Its agents remain."""
    services.templates.delete(template_name)
    return reply(TemplateOutcome())


@router.post("/{template_name}/rollback", response_model=TemplateOutcome)
def roll_back_template(services: TheServices, template_name: TemplateName, request: RollbackTemplate) -> Response:
    """Make the document of a saved version the current one."""
    services.templates.roll_back(template_name, request)
    return reply(TemplateOutcome())


@router.post("/{template_name}/save", response_model=Template)
def save_template(services: TheServices, caller: TheCaller, template_name: TemplateName, request: SaveTemplate) -> Response:
    """Make the current document a version. With `migrate_agents` the agents of the template take it over, some at once and the
    others in the background: `migration` of the reply says how far that is.
    """
    return reply(services.templates.save(template_name, request, user=caller.user_id, key_id=caller.key_id))


@router.get("/{template_name}/migration", response_model=MigrationStatus)
def retrieve_template_migration(services: TheServices, template_name: TemplateName) -> Response:
    """How far the newest migration of the template's agents is."""
    return reply(services.templates.migration(template_name))


@router.post("/{template_version}/agents", response_model=TemplateAgents, status_code=201)
def create_agents_from_template(
    services: TheServices, caller: TheCaller, template_version: str, request: CreateTemplateAgents
) -> Response:
    """Make the agents of a version, `name:version`; `name` alone is the latest one."""
    return created(services.templates.create_agents(template_version, request, user=caller.user_id, key_id=caller.key_id))
