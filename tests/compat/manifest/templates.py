"""Templates (API 2.17)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done(
        "templates.create",
        "API 2.17",
        "Makes a template from an agent or an agent file, without messages; 201.",
        "POST /v1/templates",
    ),
    diverging(
        "templates.list",
        "API 2.17",
        "GET /v1/templates returns `templates` by their names, 1 to 100 of them, 50 by default, and `has_next_page`: the form of letta-client 0.1, "
        "with its `offset`, `limit`, `name`, `search` and `exact`. `after`, a name, continues a list.",
        "The SDK has no such method since 1.0, and V1's server has no templates. Other filters of letta-client 0.1 are not read: there is one project.",
    ),
    diverging(
        "templates.retrieve",
        "API 2.17",
        "GET /v1/templates/{name:version} returns a template with the agents and the variables of a version, `name:version`; `name` alone is the latest one.",
        "The SDK has no such method, and V1's server has no templates.",
    ),
    done("templates.update", "API 2.17", "Replaces its current document.", "PATCH /v1/templates/{template_name}"),
    done("templates.delete", "API 2.17", "Deletes it; its agents stay.", "DELETE /v1/templates/{template_name}"),
    done(
        "templates.rollback",
        "API 2.17",
        "Makes the document of a version the current one.",
        "POST /v1/templates/{template_name}/rollback",
    ),
    done("templates.save", "API 2.17", "Makes the current document a version.", "POST /v1/templates/{template_name}/save"),
    diverging(
        "templates.migrate",
        "API 2.17",
        "`migrate_agents` brings settings, tools and blocks to the agents of the template; values of blocks, secrets and folders are "
        "preserved unless the request says otherwise. The first 25 agents are migrated at once, the others in the background; "
        "/v1/templates/{name}/migration tells how far that is.",
        "Letta's cloud does not document what it preserves by default.",
    ),
    done(
        "templates.agents",
        "API 2.17",
        "Makes the agents of a version, with variables in blocks, identities, tags, secrets and first messages; 201.",
        "POST /v1/templates/{template_version}/agents",
    ),
)
