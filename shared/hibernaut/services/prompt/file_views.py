"""The stored texts of files, the agents' windows on them, and the section `<directories>` of the system message that shows these.

The text of a file never changes once it is stored, so windows are cached.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from hibernaut.domain.agents.agent_types import file_limits
from hibernaut.domain.files import file_views
from hibernaut.domain.files.file_texts import lines_of
from hibernaut.domain.files.file_views import FileWindow, ShownFile, ShownFolder
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import FileBlock
from hibernaut.schemas.memory.file import Desk, OpenFile, StoredFile
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.store.memory.files import FileRow
from hibernaut.store.stores import TenantStores


@immutable
class AttachedFile:
    """A file of a folder that is attached to an agent. Its name is `folder/file`."""

    row: FileRow
    folder: StoredFolder

    @property
    def name(self) -> str:
        return f"{self.folder.name}/{self.row.name}"


class FileViews:
    """Renders files as windows and as the section `<directories>`."""

    def __init__(self, stores: TenantStores) -> None:
        self._folders = stores.folders
        self._files = stores.files
        self._windows = stores.file_windows

    def attached(self, agent: StoredAgent) -> list[AttachedFile]:
        """The readable files of the agent's folders, in the order of attachment, then of age."""
        return [each for folder, rows in self._rows(agent) for row in rows if (each := AttachedFile(row, folder)).row.readable]

    def _rows(self, agent: StoredAgent) -> list[tuple[StoredFolder, list[FileRow]]]:
        folders = self._folders.get_many(agent.source_ids)
        existing = [folders[folder_id] for folder_id in agent.source_ids if folder_id in folders]
        rows = self._files.rows_by_folder([folder.id for folder in existing])
        return [(folder, rows[folder.id]) for folder in existing]

    def section(self, agent: StoredAgent, labels: Sequence[str | None]) -> str | None:
        """The section `<directories>` of the agent's system message; None without folders. `labels`: those of the message's
        blocks.
        """
        if not agent.source_ids:
            return None
        found = self._rows(agent)
        desk = self._files.desk(agent.id)
        most, limit = limits_of(agent)
        views = [
            ShownFolder(
                folder.name,
                folder.description,
                folder.instructions,
                [self._shown(agent, AttachedFile(row, folder), desk.open.get(row.file_id)) for row in rows if row.readable],
            )
            for folder, rows in found
        ]
        return file_views.directories(views, most=most, limit=limit, labels=labels)

    def blocks(self, agents: Sequence[StoredAgent]) -> dict[str, list[FileBlock]]:
        """The files of each agent that has folders, as file blocks of its memory. The folders are read at once.
        Raises: OSError.
        """
        with_folders = [agent for agent in agents if agent.source_ids]
        desks = self._files.desks([agent.id for agent in with_folders]) if with_folders else {}
        folders = self._folders.get_many(list({one for agent in with_folders for one in agent.source_ids}))
        files = {
            folder_id: [AttachedFile(row, folders[folder_id]) for row in rows if row.readable]
            for folder_id, rows in self._files.rows_by_folder(list(folders)).items()
        }
        return {
            agent.id: [
                self._block(agent, file, desks.get(agent.id, Desk()))
                for folder_id in agent.source_ids
                for file in files.get(folder_id, ())
            ]
            for agent in with_folders
        }

    def _block(self, agent: StoredAgent, file: AttachedFile, desk: Desk) -> FileBlock:
        file_id = file.row.file_id
        window = desk.open.get(file_id)
        return FileBlock(
            id=f"block-{file_id.removeprefix('file-')}",
            label=file.name,
            value=self.view(agent, file.row, window).text if window else "",
            limit=limits_of(agent)[1],
            read_only=True,
            file_id=file_id,
            source_id=file.folder.id,
            is_open=window is not None,
            last_accessed_at=window.accessed if window else desk.last_accessed.get(file_id),
        )

    def _shown(self, agent: StoredAgent, file: AttachedFile, window: OpenFile | None) -> ShownFile:
        view = self.view(agent, file.row, window) if window else None
        return ShownFile(file.name, file.row.characters, view.text if view else None)

    def view(self, agent: StoredAgent, row: FileRow, window: OpenFile) -> FileWindow:
        """The window as the agent sees it; empty if the text is being deleted. Raises: OSError."""
        limit = limits_of(agent)[1]
        key = f"{row.file_id}:{window.start}:{window.length}:{limit}"
        found = self._windows.get(key)
        if found is None:
            found = self._window_of(row, window, limit)
            self._windows.keep(key, found)
        return found

    def _window_of(self, row: FileRow, window: OpenFile, limit: int) -> FileWindow:
        file = self._files.get(row.file_id)
        count = row.lines - window.start if window.length is None else min(window.length, row.lines - window.start)
        try:
            lines = self.lines(file, window.start, max(0, count), limit) if file else []
        except KeyError:
            lines = []
        whole = window.length is None
        return file_views.view_of(lines, start=window.start, total=row.lines, limit=limit, whole=whole)

    def lines(self, file: StoredFile, start: int, count: int, characters: int) -> list[str]:
        """At most `count` lines from line `start` (0-based) on; reading stops after more than `characters`. Raises: KeyError,
        OSError.
        """
        if not file.parts or count < 1:
            return []
        # A line may span several parts. It begins in the last part whose first line has a smaller number.
        part = max(0, bisect_left([one.first_line for one in file.parts], start + 1) - 1)
        rest_of_part = "\n".join(self._files.text_of(file.id, part).split("\n")[start + 1 - file.parts[part].first_line :])
        pieces, size, ends = [rest_of_part], len(rest_of_part), rest_of_part.count("\n")
        for later in range(part + 1, len(file.parts)):
            if ends >= count or size > characters:
                break
            pieces.append(self._files.text_of(file.id, later))
            size, ends = size + len(pieces[-1]), ends + pieces[-1].count("\n")
        return lines_of("".join(pieces))[:count]

    def parts(self, file: StoredFile) -> Iterator[str]:
        """The parts of the text in their order. Raises: KeyError, OSError."""
        for part in range(len(file.parts)):
            yield self._files.text_of(file.id, part)

    def content(self, file: StoredFile) -> str | None:
        """The whole text; None if the file has no text yet, or none any more. Raises: OSError."""
        try:
            return "".join(self.parts(file)) if file.readable else None
        except KeyError:
            return None


def limits_of(agent: StoredAgent) -> tuple[int, int]:
    """The agent's limit of open files, and its limit of visible characters per file."""
    files, characters = file_limits(agent.llm_config.context_window)
    return agent.max_files_open or files, agent.per_file_view_window_char_limit or characters


def named(files: Sequence[AttachedFile], name: str) -> AttachedFile | None:
    """The file with this name. The folder's name may be omitted if only one file has the rest of the name."""
    exact = [file for file in files if file.name == name]
    loose = exact or [file for file in files if file.row.name == name]
    return loose[0] if len(loose) == 1 or exact else None
