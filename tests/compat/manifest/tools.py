"""Tools (digest 2.9 and 3)."""

from __future__ import annotations

from tests.compat.manifest.form import LATER, diverging, done, out_of_reach, todo

ROWS = (
    done("tools.create", "API 2.9", "Makes a tool from its source; one of the same name is changed.", "POST /v1/tools/"),
    done("tools.upsert", "API 2.9", "The same; tags that are left out stay.", "PUT /v1/tools/"),
    done("tools.source_type", "API 2.9", 'A tool without `source_type` is shown with "json", and runs as Python.'),
    diverging(
        "tools.create.errors",
        "API 2.9",
        "A source that cannot be read is 400 with the line, a name over 48 characters or of a built-in tool 400, "
        "TypeScript without a schema 422.",
        "V1 names no line, and lets a custom tool replace a built-in one.",
    ),
    done("tools.retrieve", "API 2.9", "Answers one; 404.", "GET /v1/tools/{tool_id}"),
    done(
        "tools.update",
        "API 2.9",
        "Changes what is named. A rename needs source and schema together, and a free name (400).",
        "PATCH /v1/tools/{tool_id}",
    ),
    done("tools.list", "API 2.9", "Lists tools, newest first, the built-in ones included.", "GET /v1/tools/"),
    done(
        "tools.list.filters",
        "API 2.9",
        "By name, names, ids, part of a name, types, types left out; lists as repeated keys or with commas; count takes them too.",
    ),
    diverging(
        "tools.delete",
        "API 2.9",
        "Deletes it and answers null; again 404.",
        "V1 answers 400 the second time.",
        "DELETE /v1/tools/{tool_id}",
    ),
    done("tools.delete.detaches", "API 2.9", "Every agent loses it."),
    diverging(
        "tools.builtin",
        "API 2.9",
        "Built-in tools are always there; their settings can be changed, they can be neither deleted nor rewritten (400).",
        "V1 stores them at the first listing, and lets them be deleted and their source be changed without effect.",
    ),
    done(
        "tools.search",
        "API 2.9",
        "Answers 400 where there is no index of tools, as V1 does without one.",
        "POST /v1/tools/search",
    ),
    todo("tools.search.hybrid", "API 2.9", "Finds tools by words and meaning.", LATER),
    done(
        "tools.online",
        "RT 5.7",
        "`web_search`, `fetch_webpage`, `run_code` and V1's other built-in tools are there by their names.",
    ),
    diverging(
        "tools.fetch_webpage",
        "RT 5.7",
        "`fetch_webpage` reads pages of the public internet: HTML, text, PDF and DOCX, at most 10 MB within 20 seconds.",
        "V1 asks a service where it has a key for it, and reads addresses of its own network too.",
    ),
    todo("tools.web_search", "RT 5.7", "`web_search` asks a search engine; its return says now that none is configured.", LATER),
    todo("tools.run_code", "RT 5.7", "`run_code` runs code in a sandbox; its return says now what to do instead.", LATER),
    todo("tools.multi_agent", "RT 5.6", "The tools between agents send messages; their returns say now that they do not.", LATER),
    out_of_reach(
        "tools.voice",
        "RT 5.4",
        "The voice tools do something.",
        "They are dead in V1 too; their returns name what to use instead.",
    ),
    done("tools.run", "API 3", "POST /v1/tools/run runs a source once; nothing is stored.", "POST /v1/tools/run"),
    done(
        "tools.generate_schema",
        "API 3",
        "POST /v1/tools/generate-schema derives the schema of a source.",
        "POST /v1/tools/generate-schema",
    ),
    done("tools.count", "API 3", "How many tools there are, under the filters of the list.", "GET /v1/tools/count"),
    done("tools.add_base", "API 3", "The built-in tools, which are always there.", "POST /v1/tools/add-base-tools"),
    todo(
        "tools.requirements",
        "API 2.9",
        "`pip_requirements` and `npm_requirements` are installed; they are stored and shown now.",
        LATER,
    ),
)
