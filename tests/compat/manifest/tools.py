"""Tools (API 2.9 and 3)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done, out_of_reach

ROWS = (
    done("tools.create", "API 2.9", "Creates a tool from its source, or updates the one with its name.", "POST /v1/tools/"),
    done("tools.upsert", "API 2.9", "The same; omitted tags are kept.", "PUT /v1/tools/"),
    done("tools.source_type", "API 2.9", 'A tool without `source_type` has the source type "json", and runs as Python.'),
    diverging(
        "tools.create.errors",
        "API 2.9",
        "A source with a syntax error is 400 with the line and the column, a name over 48 characters, with others than a-z, digits, _ and -, or of a built-in tool 400, "
        "TypeScript from which no schema can be read 422.",
        "V1 names no line, answers 422 to all TypeScript without a schema, allows names that not all providers take, and a custom tool to replace a built-in one.",
    ),
    diverging(
        "tools.typescript",
        "RT 10.2, 10.4",
        "A tool in TypeScript has a schema from its signature, comment and types if none is given. It runs where the server has Node 20.15 or newer, with the arguments "
        "by position and the agent's variables in `process.env`. Packages of npm are refused (400).",
        "V1 requires a schema, and runs such tools at E2B only, with packages of npm.",
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
    diverging(
        "tools.search",
        "API 2.9",
        "Finds tools by the words of their names, descriptions, tags and parameters, by type and by tags, best first. A search by vectors alone is 400.",
        "V1 finds them by meaning in Turbopuffer, and answers 400 without it.",
        "POST /v1/tools/search",
    ),
    done(
        "tools.online",
        "RT 5.7",
        "`web_search`, `fetch_webpage`, `run_code` and V1's other built-in tools exist under their names.",
    ),
    diverging(
        "tools.fetch_webpage",
        "RT 5.7",
        "`fetch_webpage` returns the main part of a web page as Markdown, and the text of PDF and DOCX: at most 10 MB within 20 seconds, from "
        "the public internet and the private addresses of HIBERNAUT_PRIVATE_PAGES.",
        "V1 calls a service if it has a key for it, and also reads addresses of its own network.",
    ),
    diverging(
        "tools.web_search",
        "RT 5.7",
        "`web_search` asks Exa with the key of the agent or of the server, or a SearXNG server, and returns V1's JSON. A failure has the status error; "
        "arguments that the engine does not take are named in `ignored_arguments`.",
        "V1 knows Exa alone, sends categories that Exa has withdrawn, and reports a failure as a success.",
    ),
    diverging(
        "tools.run_code",
        "RT 5.7",
        "`run_code` runs Python, and JavaScript and TypeScript where the tool runner has Node, in the sandbox of custom tools, and returns V1's JSON.",
        "V1 runs code at E2B, in R and Java too, and needs a key for it.",
    ),
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
    diverging(
        "tools.pip_requirements",
        "API 2.9, RT 10.4",
        "`pip_requirements` are installed when the tool is saved; every call gets the same files.",
        "V1 installs them at each call, in the versions that are the newest then, or not at all.",
    ),
    diverging(
        "tools.npm_requirements",
        "API 2.9, RT 10.4",
        "A tool with `npm_requirements` is refused (400); one that an agent file brings is kept, and its calls return an error.",
        "V1 stores them, and installs them at E2B.",
    ),
    diverging(
        "tools.generate",
        "API 3",
        "A model writes a tool in Python, by the handle of the request or the default one. The source is checked, shown once more to the model if it is not usable, and not stored.",
        "V1 asks openai/gpt-4.1 unless a handle is given, once.",
        "POST /v1/tools/generate-tool",
    ),
    diverging(
        "tools.timeout",
        "RT 10.3",
        "`timeout_seconds` in the metadata of a tool is its time limit, never above the server's; the return of a call that takes longer says it.",
        "V1 has one limit for all tools of a sandbox.",
    ),
    diverging("tools.async", "RT 10.2", "An `async` function is a tool like any other.", "V1 finds no schema in one."),
    diverging(
        "tools.parallel",
        "RT 2.4",
        "Calls that follow each other in a reply, and whose tools have `enable_parallel_execution`, are made at once; their returns keep the order of the calls.",
        "V1 makes all such calls of a reply first, and the others after them.",
    ),
)
