"""Sources: the old name of folders, with the same ids (digest 3)."""

from __future__ import annotations

from tests.compat.manifest.form import done

ROWS = (
    done("sources.create", "API 3", "Makes a folder by its old name.", "POST /v1/sources/"),
    done(
        "sources.shape",
        "API 4.10",
        "A source is a folder with `vector_db_provider` (`native`), in /v1/sources, in an agent's lists and in its `sources`.",
    ),
    done("sources.list", "API 3", "All folders; without a limit no page.", "GET /v1/sources/"),
    done("sources.count", "API 3", "How many there are.", "GET /v1/sources/count"),
    done("sources.by_name", "API 3", "The id of one by its name.", "GET /v1/sources/name/{source_name}"),
    done("sources.retrieve", "API 3", "One of them.", "GET /v1/sources/{source_id}"),
    done("sources.update", "API 3", "Changes one.", "PATCH /v1/sources/{source_id}"),
    done("sources.delete", "API 3", "Deletes one: null.", "DELETE /v1/sources/{source_id}"),
    done("sources.metadata", "API 3", "422, as in V1: the path of one source swallows it.", "GET /v1/sources/metadata"),
    done("sources.upload", "API 3", "Takes a file.", "POST /v1/sources/{source_id}/upload"),
    done("sources.agents", "API 3", "The ids of the agents that have it.", "GET /v1/sources/{source_id}/agents"),
    done("sources.passages", "API 3", "The pieces of its files.", "GET /v1/sources/{source_id}/passages"),
    done("sources.files.list", "API 3", "Its files.", "GET /v1/sources/{source_id}/files"),
    done("sources.files.retrieve", "API 3", "One file, as its status is polled.", "GET /v1/sources/{source_id}/files/{file_id}"),
    done("sources.files.delete", "API 3", "Removes one (204).", "DELETE /v1/sources/{source_id}/{file_id}"),
    done("sources.of_agent", "API 3", "The folders of an agent.", "GET /v1/agents/{agent_id}/sources"),
    done("sources.attach", "API 3", "Gives a folder to an agent.", "PATCH /v1/agents/{agent_id}/sources/attach/{source_id}"),
    done("sources.detach", "API 3", "Takes it away.", "PATCH /v1/agents/{agent_id}/sources/detach/{source_id}"),
)
