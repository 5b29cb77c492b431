"""Tools (digest 2.9 and 3)."""

from __future__ import annotations

from tests.compat.manifest.form import LATER, diverging, done, out_of_reach, todo

ROWS = (
    done("tools.create", "API 2.9", "Creates a tool from its source, or updates the one with its name.", "POST /v1/tools/"),
    done("tools.upsert", "API 2.9", "The same; omitted tags are kept.", "PUT /v1/tools/"),
    done("tools.source_type", "API 2.9", 'A tool without `source_type` has the source type "json", and runs as Python.'),
    diverging(
        "tools.create.errors",
        "API 2.9",
        "A source with a syntax error is 400 with the line, a name over 48 characters or of a built-in tool 400, "
        "TypeScript without a schema 422.",
        "V1 names no line, and allows a custom tool to replace a built-in one.",
    ),
    done("tools.retrieve", "API 2.9", "Returns a tool; an unknown one is 404.", "GET /v1/tools/{tool_id}"),
    done(
        "tools.update",
        "API 2.9",
        "Updates the fields of the request. A new name needs source and schema together, and must be unused (400).",
        "PATCH /v1/tools/{tool_id}",
    ),
    done("tools.list", "API 2.9", "Lists tools, newest first, the built-in ones included.", "GET /v1/tools/"),
    done(
        "tools.list.filters",
        "API 2.9",
        "Filters: name, names, ids, part of a name, types, excluded types; a list is repeated keys or comma-separated. "
        "The count has the same filters.",
    ),
    diverging(
        "tools.delete",
        "API 2.9",
        "Deletes it and returns null; a second time is 404.",
        "V1 answers 400 the second time.",
        "DELETE /v1/tools/{tool_id}",
    ),
    done("tools.delete.detaches", "API 2.9", "It is detached from every agent."),
    diverging(
        "tools.builtin",
        "API 2.9",
        "Built-in tools always exist; their settings can be changed, but they cannot be deleted or rewritten (400).",
        "V1 creates them at the first listing, and allows their deletion, and changes of their source without effect.",
    ),
    done(
        "tools.search",
        "API 2.9",
        "Returns 400, as V1 does without an index of tools.",
        "POST /v1/tools/search",
    ),
    todo("tools.search.hybrid", "API 2.9", "Finds tools by words and meaning.", LATER),
    done(
        "tools.online",
        "RT 5.7",
        "`web_search`, `fetch_webpage`, `run_code` and V1's other built-in tools exist under their names.",
    ),
    diverging(
        "tools.fetch_webpage",
        "RT 5.7",
        "`fetch_webpage` reads pages of the public internet: HTML, text, PDF and DOCX, at most 10 MB within 20 seconds.",
        "V1 calls a service if it has a key for it, and also reads addresses of its own network.",
    ),
    todo("tools.web_search", "RT 5.7", "`web_search` asks a search engine; its return says now that none is configured.", LATER),
    todo("tools.run_code", "RT 5.7", "`run_code` runs code in a sandbox; its return says now what to do instead.", LATER),
    done(
        "tools.agents.async",
        "RT 5.6",
        "`send_message_to_agent_async` sends a message of the role system to another agent and returns `Successfully sent message`.",
    ),
    diverging(
        "tools.agents.reply",
        "RT 5.6",
        "`send_message_to_agent_and_wait_for_reply` returns the other agent's id and texts. The run waits without a process; a circle of "
        "agents, a message to oneself and a reply that does not come within an hour are errors.",
        "V1 holds a sandbox and a request open, waits for ever in a circle, and appends a copy of the message in lower case.",
    ),
    diverging(
        "tools.agents.tags",
        "RT 5.6",
        "`send_message_to_agents_matching_tags` returns a list of replies, with `<error: …>` for an agent that failed; ten agents work at a "
        "time, and more than 100 are an error.",
        "V1 asks one after the other, and only agents of the first page.",
    ),
    out_of_reach(
        "tools.voice",
        "RT 5.4",
        "The voice tools do something.",
        "They do nothing in V1 either; their returns name the replacement.",
    ),
    done("tools.run", "API 3", "Runs a source once and stores nothing.", "POST /v1/tools/run"),
    done(
        "tools.generate_schema",
        "API 3",
        "Derives the schema of a source.",
        "POST /v1/tools/generate-schema",
    ),
    done("tools.count", "API 3", "Counts tools with the filters of the list.", "GET /v1/tools/count"),
    done("tools.add_base", "API 3", "Returns the built-in tools, which always exist.", "POST /v1/tools/add-base-tools"),
    todo(
        "tools.requirements",
        "API 2.9",
        "`pip_requirements` and `npm_requirements` are installed; they are stored and shown now.",
        LATER,
    ),
)
