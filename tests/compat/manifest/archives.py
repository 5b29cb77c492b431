"""Archives, passages and the searches (API 2.7, 2.8, 2.11, 2.15; RT 7)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("archives.create", "API 2.11", "Creates an archive.", "POST /v1/archives/"),
    done("archives.create.embedding", "API 2.11", "By handle, by configuration, or the deployment's default; none is allowed."),
    done("archives.retrieve", "API 2.11", "Returns an archive.", "GET /v1/archives/{archive_id}"),
    done("archives.update", "API 2.11", "Changes name and description; null changes nothing.", "PATCH /v1/archives/{archive_id}"),
    done("archives.list", "API 2.11", "Lists archives, optionally with an exact name, in pages.", "GET /v1/archives/"),
    done("archives.list.agent", "API 2.11", "`agent_id` selects the archives of an agent."),
    diverging(
        "archives.list.order",
        "API 2.11",
        "Archives are listed in the order of creation; an agent's own archive, which its first passage creates, has "
        "the agent's place.",
        "V1 orders all by their own creation. Here an agent's own archive has the agent's id, and lists are read by id.",
    ),
    done("archives.delete", "API 2.11", "Deletes an archive (204); a second time is 404.", "DELETE /v1/archives/{archive_id}"),
    done("archives.delete.passages", "API 2.11", "Its passages are deleted, and it is detached from its agents."),
    done(
        "archives.default.outlives",
        "RT 7.1",
        "An archive remains after the deletion of the agent whose first passage created it.",
    ),
    done(
        "archives.agents",
        "API 3",
        "Lists the agents of an archive.",
        "GET /v1/archives/{archive_id}/agents",
    ),
    done("archives.passages.create", "API 2.11", "Adds a passage.", "POST /v1/archives/{archive_id}/passages"),
    done("archives.passages.batch", "API 2.11", "Adds passages in order.", "POST /v1/archives/{archive_id}/passages/batch"),
    diverging(
        "archives.passages.batch.pages",
        "API 2.11",
        "A batch goes into any archive: up to 90 passages (with their different tags) and 2 MB in one transaction, "
        "more of them in several.",
        "V1 answers 500 for an archive without an embedding.",
    ),
    diverging(
        "archives.chosen_ids",
        "API 2.11",
        "An archive, and the passages of a batch, may have an `id` of the caller: what has the id stays as it is, and a deleted passage is not brought back.",
        "V1 has no such field, so a request that is sent twice adds twice.",
    ),
    done("archives.passages.delete", "API 2.11", "Deletes it (204).", "DELETE /v1/archives/{archive_id}/passages/{passage_id}"),
    done(
        "archives.attach",
        "API 2.7",
        "Attaches an archive to an agent; an attached one changes nothing.",
        "PATCH /v1/agents/{agent_id}/archives/attach/{archive_id}",
    ),
    done("archives.detach", "API 2.7", "Detaches it.", "PATCH /v1/agents/{agent_id}/archives/detach/{archive_id}"),
    diverging(
        "archives.several",
        "RT 7.1",
        "An agent may have up to 50 archives. A search covers all; a new passage goes into the one attached first.",
        "V1 fails if there are two.",
    ),
    done(
        "passages.create",
        "API 2.8",
        "Adds a passage to an agent's archival memory.",
        "POST /v1/agents/{agent_id}/archival-memory",
    ),
    done("passages.create.archive", "API 2.8", "The first passage of an agent without an archive creates one."),
    diverging(
        "passages.shape",
        "API 4.10",
        "`embedding` is always null: only the index has vectors. `embedding_config` is the configuration of its model.",
        "V1 shows the vector, padded to 4096 dimensions.",
    ),
    diverging(
        "passages.limits",
        "RT 7.2",
        "A passage has 1 to 8192 tokens and at most 50 tags of up to 200 characters, on every route and for the agent's tool; "
        "else 400.",
        "V1 checks the length on the agent's route only, and never refuses an empty text, which the embedding provider "
        "refuses later. It has no limit of tags, each of which is a key here.",
    ),
    done("passages.list", "API 2.8", "Lists an agent's archival memory.", "GET /v1/agents/{agent_id}/archival-memory"),
    done(
        "passages.list.cursors", "API 2.8", "Ordered by time, with chronological cursors, `ascending`, and `search` in the text."
    ),
    done(
        "passages.delete",
        "API 2.8",
        "Deletes a passage and returns a confirmation.",
        "DELETE /v1/agents/{agent_id}/archival-memory/{memory_id}",
    ),
    diverging(
        "passages.prompt",
        "RT 4.3",
        "The next run's system message has the number of memories and their tags, whatever added them.",
        "V1 updates it only after the agent's own tool.",
    ),
    done("passages.tools.insert", "RT 5.2", "`archival_memory_insert` stores a passage within the step's transaction."),
    diverging(
        "passages.list.bounded",
        "API 2.8",
        "One request with `search` reads 20,000 passages; if the list continues, the header `x-hibernaut-next` has the cursor.",
        "V1 reads all passages in one request.",
    ),
    done("passages.tools.search", "RT 5.2", "`archival_memory_search` returns passages with their relevance."),
    done(
        "passages.search_agent",
        "API 2.8",
        "Searches an agent's archival memory; an empty query finds nothing.",
        "GET /v1/agents/{agent_id}/archival-memory/search",
    ),
    diverging(
        "passages.search_agent.filters",
        "RT 7.3",
        "Tags and dates are filtered before the best are chosen; times without an offset are in the agent's zone.",
        "V1 filters the best results, so that it returns fewer or none.",
    ),
    done("passages.search", "API 2.15", "Searches passages.", "POST /v1/passages/search"),
    done(
        "passages.search.places",
        "API 2.15",
        "`agent_id` (which takes precedence) or `archive_id` selects passages; without them all are searched.",
    ),
    done("passages.search.newest", "RT 7.3", "Without a query the newest passages are returned."),
    diverging(
        "passages.search.scores",
        "RT 7.3",
        "Words and meaning are searched together and their scores combined; `search_mode` chooses `fts` or `vector` alone.",
        "A self-hosted V1 orders by meaning only, and every score is 0.0.",
    ),
    diverging(
        "search.standing",
        "RT 7.3",
        "The header `x-hibernaut-search` (and `search` in an agent's archival search) says which part of a search was "
        "not possible.",
        "V1 says nothing.",
    ),
)
