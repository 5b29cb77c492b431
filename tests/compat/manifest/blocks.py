"""Blocks (digest 2.10 and 3)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("blocks.create", "API 2.10", "Makes a block.", "POST /v1/blocks/"),
    done("blocks.retrieve", "API 2.10", "Answers one; 404 with its id.", "GET /v1/blocks/{block_id}"),
    done("blocks.update", "API 2.10", "Changes what is named and not null.", "PATCH /v1/blocks/{block_id}"),
    diverging(
        "blocks.update.label",
        "API 2.5",
        "A new label that an agent of the block has already is 409.",
        "V1 lets one agent have two blocks of one label this way.",
    ),
    done("blocks.delete", "API 2.10", "Deletes it and answers null; again 404.", "DELETE /v1/blocks/{block_id}"),
    done("blocks.delete.detaches", "API 2.10", "Every agent loses it."),
    done("blocks.limit", "API 2.10", "The API accepts values over the limit, and drops null bytes."),
    done("blocks.labels", "API 2.10", "Many blocks may have one label."),
    done("blocks.list", "API 2.10", "Lists blocks, oldest first; an unknown cursor is 404.", "GET /v1/blocks/"),
    done(
        "blocks.list.filters",
        "API 2.10",
        "By label, name, tags, project, template, parts of label, description and value, and the number of agents.",
    ),
    done("blocks.count", "API 3", "How many blocks there are.", "GET /v1/blocks/count"),
    done("blocks.agents", "API 2.10", "Lists the agents it is attached to.", "GET /v1/blocks/{block_id}/agents"),
    diverging(
        "blocks.labels.plain",
        "RT 4.1",
        "A label, and a passage's tag, holds no `<`, `>` or control character, and a label is not the name of a prompt's section: 422.",
        "V1 takes them, and writes them raw into the system message.",
    ),
    diverging(
        "blocks.escaped",
        "RT 4.2",
        "One of the system message's own tags inside a value, a description or a file is shown as `&lt;…`; what is stored stays.",
        "V1 writes them raw, so that a value can end its section and begin another.",
    ),
)
