"""Archives and passages (digest 2.7, 2.8, 2.11, 2.15)."""

from __future__ import annotations

from tests.compat.manifest.form import MEMORY, todo

ROWS = (
    todo("archives.create", "API 2.11", "Makes an archive.", MEMORY, "POST /v1/archives/"),
    todo("archives.retrieve", "API 2.11", "One archive.", MEMORY, "GET /v1/archives/{archive_id}"),
    todo("archives.update", "API 2.11", "Changes name and description.", MEMORY, "PATCH /v1/archives/{archive_id}"),
    todo("archives.list", "API 2.11", "Archives, by name or agent.", MEMORY, "GET /v1/archives/"),
    todo("archives.delete", "API 2.11", "Deletes one (204).", MEMORY, "DELETE /v1/archives/{archive_id}"),
    todo("archives.passages.create", "API 2.11", "Adds a passage.", MEMORY, "POST /v1/archives/{archive_id}/passages"),
    todo("archives.passages.batch", "API 2.11", "Adds many.", MEMORY, "POST /v1/archives/{archive_id}/passages/batch"),
    todo(
        "archives.passages.delete",
        "API 2.11",
        "Removes one (204).",
        MEMORY,
        "DELETE /v1/archives/{archive_id}/passages/{passage_id}",
    ),
    todo(
        "archives.attach",
        "API 2.7",
        "Gives an archive to an agent.",
        MEMORY,
        "PATCH /v1/agents/{agent_id}/archives/attach/{archive_id}",
    ),
    todo("archives.detach", "API 2.7", "Takes it away.", MEMORY, "PATCH /v1/agents/{agent_id}/archives/detach/{archive_id}"),
    todo(
        "passages.create", "API 2.8", "Adds to an agent's archival memory.", MEMORY, "POST /v1/agents/{agent_id}/archival-memory"
    ),
    todo("passages.list", "API 2.8", "Lists an agent's archival memory.", MEMORY, "GET /v1/agents/{agent_id}/archival-memory"),
    todo(
        "passages.delete", "API 2.8", "Removes one passage.", MEMORY, "DELETE /v1/agents/{agent_id}/archival-memory/{memory_id}"
    ),
    todo(
        "passages.search_agent",
        "API 2.8",
        "Searches an agent's archival memory.",
        MEMORY,
        "GET /v1/agents/{agent_id}/archival-memory/search",
    ),
    todo("passages.search", "API 2.15", "Searches all passages.", MEMORY, "POST /v1/passages/search"),
)
