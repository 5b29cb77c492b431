"""Folders and files (API 2.7 and 2.12)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("folders.create", "API 2.12", "Creates a folder.", "POST /v1/folders/"),
    done("folders.names", "API 2.12", "A name that another folder has is 409, also on an update."),
    diverging(
        "folders.create.embedding",
        "API 2.12",
        "`embedding`, `embedding_config` or the deployment's default selects a folder's embedding model, which cannot "
        "be changed. Without an embedding model its files are searched by words and `embedding_config` is null.",
        "V1 answers 400 without an embedding model, and allows the model of a folder with files to be changed, after "
        "which a search does not find them.",
    ),
    done("folders.retrieve", "API 2.12", "Returns a folder.", "GET /v1/folders/{folder_id}"),
    done("folders.update", "API 2.12", "Updates it.", "PATCH /v1/folders/{folder_id}"),
    done("folders.list", "API 2.12", "Lists folders by name.", "GET /v1/folders/"),
    done("folders.count", "API 3", "Counts folders.", "GET /v1/folders/count"),
    done("folders.by_name", "API 3", "Returns the id of the folder with a name.", "GET /v1/folders/name/{folder_name}"),
    done("folders.metadata", "API 3", "422, as in V1: the path of one folder swallows it.", "GET /v1/folders/metadata"),
    done(
        "folders.delete",
        "API 2.12",
        "Deletes a folder with its files and detaches it from its agents.",
        "DELETE /v1/folders/{folder_id}",
    ),
    done("folders.agents", "API 2.12", "Lists the ids of its agents.", "GET /v1/folders/{folder_id}/agents"),
    done("folders.passages", "API 3", "Lists the passages of its files.", "GET /v1/folders/{folder_id}/passages"),
    done(
        "folders.upload",
        "API 2.12",
        "Uploads a file, which is read in the background; the answer has the status `parsing`.",
        "POST /v1/folders/{folder_id}/upload",
    ),
    done(
        "folders.upload.name",
        "RT 8.1",
        "`name` names the file in place of its own name, and may be a path, as `src/app.py`, which the agent then sees.",
    ),
    done(
        "folders.upload.duplicates", "RT 8.1", "`duplicate_handling`: suffix, skip (`X-Upload-Result: skipped`), error, replace."
    ),
    done("folders.upload.formats", "RT 8.1", "Text in its encodings, Markdown, code, JSON, CSV, HTML, PDF and DOCX are read."),
    done(
        "folders.upload.failures",
        "RT 8.1",
        "A file that cannot be read ends in `error` with a message; other files are not delayed.",
    ),
    diverging(
        "folders.upload.refused",
        "RT 8.1",
        "An unsupported type is 415. A path that does not lead down, as `../a.txt`, is reduced to its last part; "
        "an empty name is 400. Nothing is stored.",
        "V1 stores every `name` unchanged; a program that writes the files of a folder to a disk would leave it.",
    ),
    diverging(
        "folders.upload.limit",
        "RT 8.1",
        "An upload over the limit is 413 while it arrives.",
        "V1 answers 200 and fails in the background, above 50 MB.",
    ),
    diverging(
        "folders.upload.resumed",
        "RT 8.1",
        "If the reading of a file is interrupted, it continues within a minute where it stopped.",
        "V1 sets such a file to `error` when it is retrieved after 30 minutes, and never continues.",
    ),
    done("folders.files.list", "API 2.12", "Lists the files of a folder, newest first.", "GET /v1/folders/{folder_id}/files"),
    done(
        "folders.files.retrieve",
        "API 2.12",
        "Returns a file, with its text if requested.",
        "GET /v1/folders/{folder_id}/files/{file_id}",
    ),
    done("folders.files.delete", "API 2.12", "Deletes it (204).", "DELETE /v1/folders/{folder_id}/{file_id}"),
    done("agent_folders.list", "API 2.7", "Lists the folders of an agent.", "GET /v1/agents/{agent_id}/folders"),
    done(
        "agent_folders.attach",
        "API 2.7",
        "Attaches a folder to an agent; returns null to a 1.0 client, and the agent to older clients.",
        "PATCH /v1/agents/{agent_id}/folders/attach/{folder_id}",
    ),
    done("agent_folders.detach", "API 2.7", "Detaches it.", "PATCH /v1/agents/{agent_id}/folders/detach/{folder_id}"),
    done("agent_folders.tools", "RT 8.2", "The first folder adds the file tools, the last one removes them."),
    done("agent_files.list", "API 2.7", "Lists the files of an agent's folders.", "GET /v1/agents/{agent_id}/files"),
    done("agent_files.list.pages", "API 1.5", "Pages have `files`, `next_cursor` (also the last one) and `has_more`."),
    diverging(
        "agent_files.list.shape",
        "RT 8.4",
        "`visible_content` has the file's lines with their numbers, blank lines included.",
        "V1 cuts prose into sentences and drops blank lines, so that its numbers differ from those of the other file tools.",
    ),
    done(
        "agent_files.open",
        "API 2.7",
        "Opens a file in the agent's context; the answer lists the files that were closed for it.",
        "PATCH /v1/agents/{agent_id}/files/{file_id}/open",
    ),
    done("agent_files.close", "API 2.7", "Closes a file.", "PATCH /v1/agents/{agent_id}/files/{file_id}/close"),
    done("agent_files.close_all", "API 2.7", "Closes all files.", "PATCH /v1/agents/{agent_id}/files/close-all"),
    done(
        "agent_files.memory",
        "API 4.4",
        "`memory.file_blocks` has a read-only block for each file, with its open window as the value.",
    ),
    done("agent_files.lru", "RT 8.4", "Beyond `max_files_open` the least recently used file is closed."),
    diverging(
        "agent_files.prompt",
        "RT 4.3",
        "The next run's system message has every change: attached, opened, closed and deleted files.",
        "V1 includes them only after another event rebuilds the system message.",
    ),
    done(
        "agent_files.upload_opens", "RT 8.1", "A new file is opened for the agents of its folder, if they may open another one."
    ),
    diverging(
        "file_tools.open_files",
        "RT 5.5",
        "`open_files` opens windows and returns their text.",
        "V1 returns the files' names only, so that the model does not see their text in that run.",
    ),
    done(
        "file_tools.grep_files",
        "RT 5.5",
        "`grep_files` finds lines by a regular expression, 20 matches at a time, with context lines.",
    ),
    done(
        "file_tools.semantic_search_files",
        "RT 5.5",
        "`semantic_search_files` finds passages, and names files that are not embedded yet.",
    ),
)
