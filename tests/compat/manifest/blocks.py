"""Blocks (API 2.10 and 3)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("blocks.create", "API 2.10", "Creates a block.", "POST /v1/blocks/"),
    done("blocks.retrieve", "API 2.10", "Returns a block. An unknown one is 404, with the id.", "GET /v1/blocks/{block_id}"),
    done("blocks.update", "API 2.10", "Updates the fields that are present and not null.", "PATCH /v1/blocks/{block_id}"),
    diverging(
        "blocks.update.label",
        "API 2.5",
        "A new label that another block of one of its agents has is 409.",
        "V1 allows an agent to have two blocks with one label this way.",
    ),
    done("blocks.delete", "API 2.10", "Deletes it and returns null; a second time is 404.", "DELETE /v1/blocks/{block_id}"),
    done("blocks.delete.detaches", "API 2.10", "It is detached from every agent."),
    done("blocks.limit", "API 2.10", "The API accepts values over the limit, and removes null bytes."),
    done("blocks.labels", "API 2.10", "Several blocks may have the same label."),
    done("blocks.list", "API 2.10", "Lists blocks, oldest first; an unknown cursor is 404.", "GET /v1/blocks/"),
    done(
        "blocks.list.filters",
        "API 2.10",
        "Filters: label, name, tags, project, template, parts of label, description and value, and the number of agents.",
    ),
    done("blocks.count", "API 3", "Counts blocks.", "GET /v1/blocks/count"),
    done("blocks.agents", "API 2.10", "Lists the agents of a block.", "GET /v1/blocks/{block_id}/agents"),
    diverging(
        "blocks.labels.plain",
        "RT 4.1",
        "A label and a passage's tag contain no `<`, `>` or control character, and a label is not the name of a "
        "prompt's section: 422.",
        "V1 accepts them and writes them unescaped into the system message.",
    ),
    diverging(
        "blocks.escaped",
        "RT 4.2",
        "One of the system message's own tags inside a value, a description or a file is written as `&lt;…`; the "
        "stored value does not change.",
        "V1 writes them unescaped, so that a value can end its section and begin another.",
    ),
)
