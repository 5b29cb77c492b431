"""Archives, passages and the searches (digest 2.7, 2.8, 2.11, 2.15; run-time digest 7)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("archives.create", "API 2.11", "Makes an archive.", "POST /v1/archives/"),
    done("archives.create.embedding", "API 2.11", "By handle, by configuration, or the deployment's default; none is fine too."),
    done("archives.retrieve", "API 2.11", "One archive.", "GET /v1/archives/{archive_id}"),
    done("archives.update", "API 2.11", "Changes name and description; null changes nothing.", "PATCH /v1/archives/{archive_id}"),
    done("archives.list", "API 2.11", "Archives by their exact name, in pages.", "GET /v1/archives/"),
    done("archives.list.agent", "API 2.11", "Those that are attached to an agent."),
    diverging(
        "archives.list.order",
        "API 2.11",
        "Archives are listed in the order of creation; an agent's own archive, which its first passage creates, stands where the agent does.",
        "V1 orders all by the moment of their creation. Ours are read by key, a page at a time, and an agent's own archive has the agent's id.",
    ),
    done("archives.delete", "API 2.11", "Deletes one (204), again 404.", "DELETE /v1/archives/{archive_id}"),
    done("archives.delete.passages", "API 2.11", "Its passages go with it, and its agents lose it."),
    done("archives.default.outlives", "RT 7.1", "An archive outlives the agent whose first passage made it."),
    done(
        "archives.agents",
        "API 3",
        "`GET /v1/archives/{archive_id}/agents` lists who has it.",
        "GET /v1/archives/{archive_id}/agents",
    ),
    done("archives.passages.create", "API 2.11", "Adds a passage.", "POST /v1/archives/{archive_id}/passages"),
    done("archives.passages.batch", "API 2.11", "Adds many, in order.", "POST /v1/archives/{archive_id}/passages/batch"),
    diverging(
        "archives.passages.batch.pages",
        "API 2.11",
        "A batch goes into any archive: up to 90 passages (with their different tags) and 2 MB all or nothing, more in such pages.",
        "V1 answers 500 for an archive without an embedding.",
    ),
    done("archives.passages.delete", "API 2.11", "Removes one (204).", "DELETE /v1/archives/{archive_id}/passages/{passage_id}"),
    done(
        "archives.attach",
        "API 2.7",
        "Gives an archive to an agent; once more changes nothing.",
        "PATCH /v1/agents/{agent_id}/archives/attach/{archive_id}",
    ),
    done("archives.detach", "API 2.7", "Takes it away.", "PATCH /v1/agents/{agent_id}/archives/detach/{archive_id}"),
    diverging(
        "archives.several",
        "RT 7.1",
        "An agent may have up to 50 archives. They are searched together; what it puts away goes into the first that was attached.",
        "V1 raises as soon as there are two.",
    ),
    done("passages.create", "API 2.8", "Adds to an agent's archival memory.", "POST /v1/agents/{agent_id}/archival-memory"),
    done("passages.create.archive", "API 2.8", "The first passage of an agent without an archive makes one for it."),
    diverging(
        "passages.shape",
        "API 4.10",
        "`embedding` is always null: vectors lie in the index alone. `embedding_config` says how they are made.",
        "V1 shows the vector, padded to 4096 dimensions.",
    ),
    diverging(
        "passages.limits",
        "RT 7.2",
        "A passage has 1 to 8192 tokens and at most 50 tags, on every route and for the agent's tool; else 400.",
        "V1 looks at the length on the agent's route alone, and at empty texts nowhere: an embedding's provider refuses them later.",
    ),
    done("passages.list", "API 2.8", "Lists an agent's archival memory.", "GET /v1/agents/{agent_id}/archival-memory"),
    done("passages.list.cursors", "API 2.8", "By time, with chronological cursors, `ascending`, and `search` in the text."),
    done(
        "passages.delete",
        "API 2.8",
        "Removes one passage and says so.",
        "DELETE /v1/agents/{agent_id}/archival-memory/{memory_id}",
    ),
    diverging(
        "passages.prompt",
        "RT 4.3",
        "The next run's system message tells how many memories and which tags there are, whoever put them there.",
        "V1 compiles it anew for the agent's own tool alone.",
    ),
    done("passages.tools.insert", "RT 5.2", "`archival_memory_insert` stores a passage within the step's transaction."),
    diverging(
        "passages.list.bounded",
        "API 2.8",
        "`search` looks at 20,000 passages in one request; where the list goes on, the header `x-hibernaut-next` holds the cursor.",
        "V1 looks through all passages in one request.",
    ),
    done("passages.tools.search", "RT 5.2", "`archival_memory_search` answers passages with their relevance."),
    done(
        "passages.search_agent",
        "API 2.8",
        "Searches an agent's archival memory; nothing for an empty query.",
        "GET /v1/agents/{agent_id}/archival-memory/search",
    ),
    diverging(
        "passages.search_agent.filters",
        "RT 7.3",
        "Tags and dates are filtered before the best are chosen; times without an offset are in the agent's zone.",
        "V1 cuts first and filters then, so that fewer or none come back.",
    ),
    done("passages.search", "API 2.15", "Searches passages.", "POST /v1/passages/search"),
    done("passages.search.places", "API 2.15", "Of an agent, which goes first, of an archive, or of all."),
    done("passages.search.newest", "RT 7.3", "Without a query the newest come."),
    diverging(
        "passages.search.scores",
        "RT 7.3",
        "Words and meaning are searched together and fused by reciprocal rank; `search_mode` chooses `fts` or `vector` alone.",
        "V1 at home orders by meaning alone and shows 0.0 for every score.",
    ),
    diverging(
        "search.standing",
        "RT 7.3",
        "The header `x-hibernaut-search` (and `search` in an agent's archival search) says what a search could not do.",
        "V1 says nothing.",
    ),
)
