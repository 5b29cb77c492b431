"""Sources: the old name of folders, with the same ids (API 3)."""

from __future__ import annotations

from tests.compat.manifest.form import done

ROWS = (
    done("sources.create", "API 3", "Creates a folder.", "POST /v1/sources/"),
    done(
        "sources.shape",
        "API 4.10",
        "A source is a folder with `vector_db_provider` (`native`), in /v1/sources, in an agent's lists and in its `sources`.",
    ),
    done("sources.list", "API 3", "Lists folders, all without a limit.", "GET /v1/sources/"),
    done("sources.count", "API 3", "Counts folders.", "GET /v1/sources/count"),
    done("sources.by_name", "API 3", "Returns the id of the folder with a name.", "GET /v1/sources/name/{source_name}"),
    done("sources.retrieve", "API 3", "Returns a folder.", "GET /v1/sources/{source_id}"),
    done("sources.update", "API 3", "Updates it.", "PATCH /v1/sources/{source_id}"),
    done("sources.delete", "API 3", "Deletes a folder and returns null.", "DELETE /v1/sources/{source_id}"),
    done("sources.metadata", "API 3", "422, as in V1: the path of one source swallows it.", "GET /v1/sources/metadata"),
    done("sources.upload", "API 3", "Uploads a file.", "POST /v1/sources/{source_id}/upload"),
    done("sources.agents", "API 3", "Lists the ids of its agents.", "GET /v1/sources/{source_id}/agents"),
    done("sources.passages", "API 3", "Lists the passages of its files.", "GET /v1/sources/{source_id}/passages"),
    done("sources.files.list", "API 3", "Lists its files.", "GET /v1/sources/{source_id}/files"),
    done("sources.files.retrieve", "API 3", "Returns a file with its status.", "GET /v1/sources/{source_id}/files/{file_id}"),
    done("sources.files.delete", "API 3", "Deletes it (204).", "DELETE /v1/sources/{source_id}/{file_id}"),
    done("sources.of_agent", "API 3", "Lists the folders of an agent.", "GET /v1/agents/{agent_id}/sources"),
    done("sources.attach", "API 3", "Attaches a folder to an agent.", "PATCH /v1/agents/{agent_id}/sources/attach/{source_id}"),
    done("sources.detach", "API 3", "Detaches it.", "PATCH /v1/agents/{agent_id}/sources/detach/{source_id}"),
)
