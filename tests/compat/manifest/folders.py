"""Folders and files (digest 2.7 and 2.12)."""

from __future__ import annotations

from tests.compat.manifest.form import MEMORY, todo

ROWS = (
    todo("folders.create", "API 2.12", "Makes a folder.", MEMORY, "POST /v1/folders/"),
    todo("folders.retrieve", "API 2.12", "One folder.", MEMORY, "GET /v1/folders/{folder_id}"),
    todo("folders.update", "API 2.12", "Changes one.", MEMORY, "PATCH /v1/folders/{folder_id}"),
    todo("folders.list", "API 2.12", "Folders, by name.", MEMORY, "GET /v1/folders/"),
    todo("folders.delete", "API 2.12", "Deletes one.", MEMORY, "DELETE /v1/folders/{folder_id}"),
    todo("folders.agents", "API 2.12", "The ids of the agents that have it.", MEMORY, "GET /v1/folders/{folder_id}/agents"),
    todo(
        "folders.upload",
        "API 2.12",
        "Takes a file and reads it in the background.",
        MEMORY,
        "POST /v1/folders/{folder_id}/upload",
    ),
    todo("folders.files.list", "API 2.12", "The files of a folder.", MEMORY, "GET /v1/folders/{folder_id}/files"),
    todo("folders.files.retrieve", "API 2.12", "One file.", MEMORY, "GET /v1/folders/{folder_id}/files/{file_id}"),
    todo("folders.files.delete", "API 2.12", "Removes one (204).", MEMORY, "DELETE /v1/folders/{folder_id}/{file_id}"),
    todo("agent_folders.list", "API 2.7", "The folders of an agent.", MEMORY, "GET /v1/agents/{agent_id}/folders"),
    todo(
        "agent_folders.attach",
        "API 2.7",
        "Gives a folder to an agent.",
        MEMORY,
        "PATCH /v1/agents/{agent_id}/folders/attach/{folder_id}",
    ),
    todo("agent_folders.detach", "API 2.7", "Takes it away.", MEMORY, "PATCH /v1/agents/{agent_id}/folders/detach/{folder_id}"),
    todo("agent_files.list", "API 2.7", "The files that an agent sees.", MEMORY, "GET /v1/agents/{agent_id}/files"),
    todo(
        "agent_files.open",
        "API 2.7",
        "Opens a file in the agent's context.",
        MEMORY,
        "PATCH /v1/agents/{agent_id}/files/{file_id}/open",
    ),
    todo("agent_files.close", "API 2.7", "Closes it.", MEMORY, "PATCH /v1/agents/{agent_id}/files/{file_id}/close"),
    todo("agent_files.close_all", "API 2.7", "Closes all.", MEMORY, "PATCH /v1/agents/{agent_id}/files/close-all"),
)
