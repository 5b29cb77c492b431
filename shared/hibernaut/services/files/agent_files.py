"""The files of an agent in the API: list, open and close them (Letta V1 API, API 2.7; RT 8.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from hibernaut.domain.files import file_views
from hibernaut.domain.wire.listing import Page, page
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.errors import Conflict, NotFound
from hibernaut.schemas.ids import compose, order_of
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.file import AgentFile, AgentFilePage, Desk, OpenFile
from hibernaut.services.prompt.file_views import AttachedFile, FileViews, limits_of
from hibernaut.services.records import Records


@immutable
class _AgentDesk:
    """An agent's files by id, and its desk, which records the open ones."""

    agent: StoredAgent
    files: dict[str, AttachedFile]
    desk: Desk


class AgentFiles:
    """Lists, opens and closes an agent's files."""

    def __init__(self, records: Records, views: FileViews) -> None:
        self._records = records
        self._views = views

    def page(self, agent_id: str, query: Page, *, is_open: bool | None = None) -> AgentFilePage:
        """A page of the agent's files, ordered by the files' creation time. A cursor is the id of an attachment or of a file.

        At most 100 files by default. Raises: NotFound.
        """
        agent_desk = self._agent_desk(agent_id)
        selected = [
            file for file in agent_desk.files.values() if is_open is None or is_open is (file.row.file_id in agent_desk.desk.open)
        ]
        cursors = {attachment_id(agent_id, file.row.file_id): file.row.file_id for file in agent_desk.files.values()}
        limit = 100 if query.limit is None else query.limit
        after, before = (cursors.get(cursor, cursor) if cursor else None for cursor in (query.after, query.before))
        query = replace(query, limit=limit + 1, after=after, before=before)
        found = page(selected, query, id_of=lambda file: file.row.file_id, place=lambda file: file.row.created_at)
        files = [self._shown(agent_desk, file) for file in (found[:limit] if before is None else found[-limit:])]
        return AgentFilePage(files=files, next_cursor=files[-1].id if files else None, has_more=len(found) > limit)

    def _shown(self, agent_desk: _AgentDesk, file: AttachedFile) -> AgentFile:
        file_id = file.row.file_id
        window = agent_desk.desk.open.get(file_id)
        view = self._views.view(agent_desk.agent, file.row, window) if window else None
        is_partial = window is not None and view is not None and (window.start > 0 or window.length is not None)
        return AgentFile(
            id=attachment_id(agent_desk.agent.id, file_id),
            file_id=file_id,
            file_name=file.name,
            folder_id=file.folder.id,
            folder_name=file.folder.name,
            is_open=window is not None,
            last_accessed_at=window.accessed if window else agent_desk.desk.last_accessed.get(file_id),
            visible_content=view.text if view else None,
            start_line=view.first if view and is_partial else None,
            end_line=view.last if view and is_partial else None,
        )

    def open(self, agent_id: str, file_id: str) -> Sequence[str]:
        """Open a file from its beginning; returns the names of the files that were closed to make room. Raises: NotFound,
        Conflict.
        """

        def change(agent_desk: _AgentDesk) -> tuple[Desk, Sequence[str]]:
            if file_id not in agent_desk.files:
                raise self._unknown(agent_desk.agent, file_id)
            windows = {file_id: OpenFile(accessed=self._records.clock.now())}
            cleared = file_views.opened(agent_desk.desk, windows, most=limits_of(agent_desk.agent)[0], attached=agent_desk.files)
            return cleared.desk, cleared.evicted

        return self._changed(agent_id, change)

    def close(self, agent_id: str, file_id: str) -> None:
        """Close a file; idempotent. Raises: NotFound, Conflict."""

        def change(agent_desk: _AgentDesk) -> tuple[Desk, Sequence[str]]:
            if file_id not in agent_desk.files:
                raise self._unknown(agent_desk.agent, file_id)
            return file_views.closed(agent_desk.desk, {file_id}), ()

        self._changed(agent_id, change)

    def close_all(self, agent_id: str) -> Sequence[str]:
        """Close all files; returns the names of those that were open. Raises: NotFound, Conflict."""
        return self._changed(
            agent_id,
            lambda agent_desk: (file_views.closed(agent_desk.desk, set(agent_desk.desk.open)), tuple(agent_desk.desk.open)),
        )

    def _changed(self, agent_id: str, change: Callable[[_AgentDesk], tuple[Desk, Sequence[str]]]) -> Sequence[str]:
        """Change the desk; returns the names of the files whose ids `change` returns with the new desk."""

        def attempt() -> Sequence[str]:
            agent_desk = self._agent_desk(agent_id)
            after, file_ids = change(agent_desk)
            if after != agent_desk.desk:
                token = self._records.ids.token()
                put = self._records.files.put_desk(agent_id, agent_desk.desk, after, token)
                self._records.writer.write(put, token=token)
            return [agent_desk.files[file_id].name for file_id in file_ids if file_id in agent_desk.files]

        return self._records.until_settled(attempt)

    def _agent_desk(self, agent_id: str) -> _AgentDesk:
        agent = self._records.agent(agent_id)
        files = {file.row.file_id: file for file in self._views.attached(agent)}
        return _AgentDesk(agent, files, self._records.files.desk(agent_id))

    def _unknown(self, agent: StoredAgent, file_id: str) -> NotFound | Conflict:
        """The error for a file that is not attached to the agent (NotFound), or has no text yet (Conflict)."""
        if self._records.files.rows_of(agent.source_ids, file_id):
            return Conflict(f"CONFLICT: File {file_id} has no text yet; its status has the reason.")
        return NotFound(f"File with id={file_id} is not attached to agent {agent.id}")


def attachment_id(agent_id: str, file_id: str) -> str:
    """The id of a file's attachment to an agent: derived from both ids, and sorted like the file's."""
    milliseconds, counter = order_of(file_id)
    hashed = int.from_bytes(hashlib.sha256(f"{agent_id}#{file_id}".encode()).digest()[:8]) >> 9
    return compose("file_agent", milliseconds, counter, hashed)
