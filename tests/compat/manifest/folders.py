"""Folders and files (digest 2.7 and 2.12)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("folders.create", "API 2.12", "Makes a folder.", "POST /v1/folders/"),
    done("folders.names", "API 2.12", "A name that another folder has is refused with 409, also on a change."),
    diverging(
        "folders.create.embedding",
        "API 2.12",
        "How a folder embeds is said by `embedding` or `embedding_config`, else by the deployment, and holds for the folder's life. "
        "Where nothing embeds, its files are found by their words and `embedding_config` is null.",
        "V1 answers 400 without an embedding model, and lets the model of a folder with files be changed, after which they are not found.",
    ),
    done("folders.retrieve", "API 2.12", "One folder.", "GET /v1/folders/{folder_id}"),
    done("folders.update", "API 2.12", "Changes one.", "PATCH /v1/folders/{folder_id}"),
    done("folders.list", "API 2.12", "Folders, by name.", "GET /v1/folders/"),
    done("folders.count", "API 3", "How many folders there are.", "GET /v1/folders/count"),
    done("folders.by_name", "API 3", "The id of a folder by its name.", "GET /v1/folders/name/{folder_name}"),
    done("folders.metadata", "API 3", "422, as in V1: the path of one folder swallows it.", "GET /v1/folders/metadata"),
    done("folders.delete", "API 2.12", "Deletes one with its files; its agents lose it.", "DELETE /v1/folders/{folder_id}"),
    done("folders.agents", "API 2.12", "The ids of the agents that have it.", "GET /v1/folders/{folder_id}/agents"),
    done("folders.passages", "API 3", "The pieces of its files.", "GET /v1/folders/{folder_id}/passages"),
    done(
        "folders.upload",
        "API 2.12",
        "Takes a file and reads it in the background; the answer comes at once, with the status `parsing`.",
        "POST /v1/folders/{folder_id}/upload",
    ),
    done(
        "folders.upload.duplicates", "RT 8.1", "`duplicate_handling`: suffix, skip (`X-Upload-Result: skipped`), error, replace."
    ),
    done("folders.upload.formats", "RT 8.1", "Text in its encodings, Markdown, code, JSON, CSV, HTML, PDF and DOCX are read."),
    done(
        "folders.upload.failures",
        "RT 8.1",
        "A file that cannot be read ends in `error` with a message; others are not kept waiting.",
    ),
    diverging(
        "folders.upload.refused",
        "RT 8.1",
        "A type that cannot be read is 415; a path as a name is cut to its last part, and a name with nothing left is 400. Nothing is stored.",
        "V1 takes paths as they are.",
    ),
    diverging(
        "folders.upload.limit",
        "RT 8.1",
        "An upload over the limit is refused with 413 as it arrives.",
        "V1 answers 200 and fails in the background, above 50 MB.",
    ),
    diverging(
        "folders.upload.resumed",
        "RT 8.1",
        "A file whose reading was broken off is taken up again within a minute, where it stopped.",
        "V1 flips files that are older than 30 minutes to `error` when they are looked at, and never takes one up again.",
    ),
    done("folders.files.list", "API 2.12", "The files of a folder, newest first.", "GET /v1/folders/{folder_id}/files"),
    done(
        "folders.files.retrieve",
        "API 2.12",
        "One file, with its text where that is asked for.",
        "GET /v1/folders/{folder_id}/files/{file_id}",
    ),
    done("folders.files.delete", "API 2.12", "Removes one (204).", "DELETE /v1/folders/{folder_id}/{file_id}"),
    done("agent_folders.list", "API 2.7", "The folders of an agent.", "GET /v1/agents/{agent_id}/folders"),
    done(
        "agent_folders.attach",
        "API 2.7",
        "Gives a folder to an agent: null for a 1.0 client, else the agent.",
        "PATCH /v1/agents/{agent_id}/folders/attach/{folder_id}",
    ),
    done("agent_folders.detach", "API 2.7", "Takes it away.", "PATCH /v1/agents/{agent_id}/folders/detach/{folder_id}"),
    done("agent_folders.tools", "RT 8.2", "With the first folder the file tools come, with the last they go."),
    done("agent_files.list", "API 2.7", "The files that an agent sees.", "GET /v1/agents/{agent_id}/files"),
    done("agent_files.list.pages", "API 1.5", "Pages hold `files`, `next_cursor` (also the last one) and `has_more`."),
    diverging(
        "agent_files.list.shape",
        "RT 8.4",
        "`visible_content` shows the file's lines under their own numbers, also of prose, blank ones included.",
        "V1 cuts prose into sentences and drops blank lines, so that its numbers fit no other tool's.",
    ),
    done(
        "agent_files.open",
        "API 2.7",
        "Opens a file in the agent's context; the answer names what was closed for it.",
        "PATCH /v1/agents/{agent_id}/files/{file_id}/open",
    ),
    done("agent_files.close", "API 2.7", "Closes it.", "PATCH /v1/agents/{agent_id}/files/{file_id}/close"),
    done("agent_files.close_all", "API 2.7", "Closes all.", "PATCH /v1/agents/{agent_id}/files/close-all"),
    done(
        "agent_files.memory",
        "API 4.4",
        "`memory.file_blocks` shows each file as a read-only block: its open window as the value.",
    ),
    done("agent_files.lru", "RT 8.4", "Beyond `max_files_open` what was looked at longest ago is closed."),
    diverging(
        "agent_files.prompt",
        "RT 4.3",
        "The next run's system message shows every change: attaching, opening, closing, a deleted file.",
        "V1 shows none of them until its system message is rebuilt for another reason.",
    ),
    done("agent_files.upload_opens", "RT 8.1", "A new file is open for the agents of its folder, if it fits."),
    diverging(
        "file_tools.open_files",
        "RT 5.5",
        "`open_files` opens windows, and its return holds their text.",
        "V1's return names the files only, so that their text is not seen in that run.",
    ),
    done(
        "file_tools.grep_files",
        "RT 5.5",
        "`grep_files` finds lines by a regular expression, 20 matches at a time, with lines around them.",
    ),
    done(
        "file_tools.semantic_search_files", "RT 5.5", "`semantic_search_files` finds passages, and says what is not embedded yet."
    ),
)
