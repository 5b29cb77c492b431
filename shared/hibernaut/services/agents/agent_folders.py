"""Folders of an agent: the changes that go with attaching and detaching one, besides the agent's own list (RT 8.2).

The first folder attaches the file tools to the agent, and the loss of the last one detaches them. The files of a new folder are
opened up to the agent's limit of open files.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.files import file_views
from hibernaut.domain.files.file_texts import LONGEST_NAME
from hibernaut.domain.tools.builtin.builtin_tools import builtin_id
from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.services.prompt.file_views import limits_of
from hibernaut.services.records import Records

_OWN = " External Data Source"
"""The end of the name of an agent's own folder (V1's `include_default_source`)."""
FILE_TOOLS = ("open_files", "grep_files", "semantic_search_files")


def wanted_folders(*lists: Sequence[str] | None) -> list[str] | None:
    """The folder ids of a request, from its newer and its older field without duplicates; None if both fields are missing."""
    present = [ids for ids in lists if ids is not None]
    return list(dict.fromkeys(folder_id for ids in present for folder_id in ids)) if present else None


def own_folder(records: Records, agent: StoredAgent) -> StoredFolder:
    """An empty folder with the name and the embedding of a new agent. Folders have different names: if an agent of this name has
    one, the name ends with a part of the folder's id.
    """
    folder_id = records.ids.new("source")
    number = f" {folder_id[-12:]}"
    room = LONGEST_NAME - len(f"{_OWN}{number}")
    name = f"{agent.name.encode()[:room].decode('utf-8', 'ignore')}{_OWN}"
    return StoredFolder(
        id=folder_id,
        name=name if records.folders.by_name(name) is None else f"{name}{number}",
        embedding_config=agent.embedding_config,
        created_by_id=agent.created_by_id,
        last_updated_by_id=agent.last_updated_by_id,
        created_at=agent.created_at,
        updated_at=agent.updated_at,
    )


def tools_with(tool_ids: Sequence[str], folder_ids: Sequence[str]) -> list[str]:
    """The agent's tool ids with the file tools added if there are folders, removed if there are none."""
    file_tools = [builtin_id(name) for name in FILE_TOOLS]
    if not folder_ids:
        return [tool_id for tool_id in tool_ids if tool_id not in file_tools]
    return [*tool_ids, *(tool_id for tool_id in file_tools if tool_id not in tool_ids)]


def folder_links(records: Records, agent_id: str, before: Sequence[str], after: Sequence[str]) -> list[Change]:
    """The changes of link rows from one list of folders to another; a new folder must exist (a condition of the transaction)."""
    fresh = [folder_id for folder_id in after if folder_id not in before]
    lost = [folder_id for folder_id in before if folder_id not in after]
    exist = [records.folders.must_exist(folder_id) for folder_id in fresh]
    links = [records.folders.attach(folder_id, agent_id) for folder_id in fresh]
    return [*exist, *links, *(records.folders.detach(folder_id, agent_id) for folder_id in lost)]


def filled_desk(records: Records, before: Sequence[str], after: StoredAgent) -> list[Change]:
    """The change that opens the files of folders that are not in `before`, up to the agent's limit of open files; none if
    nothing fits.
    """
    desk = records.files.desk(after.id)
    rows = records.files.rows_by_folder(after.source_ids)
    file_ids = {row.file_id for listed in rows.values() for row in listed}
    fresh = [row.file_id for folder_id in after.source_ids if folder_id not in before for row in rows[folder_id] if row.readable]
    filled = file_views.filled(desk, fresh, most=limits_of(after)[0], attached=file_ids, now=records.clock.now())
    return [] if filled == desk else [records.files.put_desk(after.id, desk, filled, records.ids.token())]
