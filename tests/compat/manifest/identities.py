"""Identities (API 2.7, 3 and 4.11)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    diverging(
        "identities.erase",
        "API 3",
        "POST /v1/identities/{id}/erase erases a person everywhere; /v1/erasures shows receipts, and POST …/check looks for what is left.",
        "V1 deletes identities and leaves what they said.",
    ),
    done("identities.create", "API 3", "Creates an identity. An unknown field is 422.", "POST /v1/identities/"),
    done("identities.key", "API 3", "A key that another identity of the project has is 409."),
    diverging(
        "identities.links.checked",
        "API 3",
        "`agent_ids` and `block_ids` that do not exist are 404, and nothing is written; a request names at most 200 of each.",
        "V1 answers 500, and sets no limit.",
    ),
    done(
        "identities.upsert",
        "API 3",
        "Creates the identity, or replaces name, type, properties and agents of the one that has the key in the project.",
        "PUT /v1/identities/",
    ),
    diverging(
        "identities.upsert.blocks",
        "API 3",
        "`block_ids` replaces the blocks too.",
        "V1 ignores the field if the identity exists.",
    ),
    done("identities.list", "API 3", "Lists identities, newest first; an unknown cursor is 404.", "GET /v1/identities/"),
    done("identities.list.filters", "API 3", "Filters: part of a name, key, type, project."),
    done("identities.count", "API 3", "Counts identities.", "GET /v1/identities/count"),
    done("identities.retrieve", "API 3", "Returns an identity; an unknown one is 404.", "GET /v1/identities/{identity_id}"),
    done(
        "identities.include",
        "API 1.4",
        "A 1.0 client gets `agent_ids` and `block_ids` if `include` names `identity.agents` and `identity.blocks`, other clients "
        "always.",
    ),
    done(
        "identities.update",
        "API 3",
        "Changes the fields of the request; properties with new keys, agents and blocks are added.",
        "PATCH /v1/identities/{identity_id}",
    ),
    done("identities.properties", "API 3", "Replaces all properties.", "PUT /v1/identities/{identity_id}/properties"),
    diverging(
        "identities.properties.limit",
        "API 3",
        "The properties of an identity take at most 64 KiB as JSON, and each key is there once.",
        "V1 sets no limit.",
    ),
    done(
        "identities.delete", "API 3", "Deletes it and returns null; a second time is 404.", "DELETE /v1/identities/{identity_id}"
    ),
    done("identities.delete.detaches", "API 3", "It is detached from its agents and blocks, which stay."),
    done("identities.agents", "API 3", "Lists its agents, newest first.", "GET /v1/identities/{identity_id}/agents"),
    done("identities.blocks", "API 3", "Lists its blocks, newest first.", "GET /v1/identities/{identity_id}/blocks"),
    done(
        "identities.attach",
        "API 2.7",
        "Attaches an identity to an agent; idempotent, null.",
        "PATCH /v1/agents/{agent_id}/identities/attach/{identity_id}",
    ),
    done(
        "identities.detach",
        "API 2.7",
        "Detaches an identity from an agent; idempotent, null.",
        "PATCH /v1/agents/{agent_id}/identities/detach/{identity_id}",
    ),
    done(
        "blocks.identities.attach",
        "API 3",
        "Attaches an identity to a block; idempotent, null.",
        "PATCH /v1/blocks/{block_id}/identities/attach/{identity_id}",
    ),
    done(
        "blocks.identities.detach",
        "API 3",
        "Detaches an identity from a block; idempotent, null.",
        "PATCH /v1/blocks/{block_id}/identities/detach/{identity_id}",
    ),
    done("identities.filters", "API 2.2", "`identity_id` and `identifier_keys` filter the lists of agents and of blocks."),
    diverging(
        "identities.of_agents",
        "API 4.1",
        "`identities` of an agent are loaded with `include=agent.identities`; their `agent_ids` and `block_ids` are empty.",
        "V1 lists there every other agent of each identity.",
    ),
)
