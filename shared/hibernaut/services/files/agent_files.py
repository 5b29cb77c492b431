"""The files of an agent in the API: list, open and close them (Letta V1 API, digest 2.7; run-time digest 8.4)."""

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

    def page(self, agent_id: str, asked: Page, *, is_open: bool | None = None) -> AgentFilePage:
        """A page of the agent's files, ordered by the files' creation time. A cursor is the id of an attachment or of a file.

        At most 100 files by default. Raises: NotFound.
        """
        seen = self._seen(agent_id)
        wanted = [file for file in seen.files.values() if is_open is None or is_open is (file.row.file_id in seen.desk.open)]
        cursors = {attachment_id(agent_id, file.row.file_id): file.row.file_id for file in seen.files.values()}
        limit = 100 if asked.limit is None else asked.limit
        after, before = (cursors.get(cursor, cursor) if cursor else None for cursor in (asked.after, asked.before))
        asked = replace(asked, limit=limit + 1, after=after, before=before)
        found = page(wanted, asked, id_of=lambda file: file.row.file_id, place=lambda file: file.row.created_at)
        shown = [self._shown(seen, file) for file in (found[:limit] if before is None else found[-limit:])]
        return AgentFilePage(files=shown, next_cursor=shown[-1].id if shown else None, has_more=len(found) > limit)

    def _shown(self, seen: _AgentDesk, file: AttachedFile) -> AgentFile:
        file_id = file.row.file_id
        window = seen.desk.open.get(file_id)
        view = self._views.view(seen.agent, file.row, window) if window else None
        part = window is not None and view is not None and (window.start > 0 or window.length is not None)
        return AgentFile(
            id=attachment_id(seen.agent.id, file_id),
            file_id=file_id,
            file_name=file.name,
            folder_id=file.folder.id,
            folder_name=file.folder.name,
            is_open=window is not None,
            last_accessed_at=window.accessed if window else seen.desk.seen.get(file_id),
            visible_content=view.text if view else None,
            start_line=view.first if view and part else None,
            end_line=view.last if view and part else None,
        )

    def open(self, agent_id: str, file_id: str) -> Sequence[str]:
        """Open a file from its beginning; returns the names of the files that were closed to make room. Raises: NotFound,
        Conflict.
        """

        def change(seen: _AgentDesk) -> tuple[Desk, Sequence[str]]:
            if file_id not in seen.files:
                raise self._unknown(seen.agent, file_id)
            wanted = {file_id: OpenFile(accessed=self._records.clock.now())}
            cleared = file_views.opened(seen.desk, wanted, most=limits_of(seen.agent)[0], there=seen.files)
            return cleared.desk, cleared.evicted

        return self._changed(agent_id, change)

    def close(self, agent_id: str, file_id: str) -> None:
        """Close a file; idempotent. Raises: NotFound, Conflict."""

        def change(seen: _AgentDesk) -> tuple[Desk, Sequence[str]]:
            if file_id not in seen.files:
                raise self._unknown(seen.agent, file_id)
            return file_views.closed(seen.desk, {file_id}), ()

        self._changed(agent_id, change)

    def close_all(self, agent_id: str) -> Sequence[str]:
        """Close all files; returns the names of those that were open. Raises: NotFound, Conflict."""
        return self._changed(agent_id, lambda seen: (file_views.closed(seen.desk, set(seen.desk.open)), tuple(seen.desk.open)))

    def _changed(self, agent_id: str, change: Callable[[_AgentDesk], tuple[Desk, Sequence[str]]]) -> Sequence[str]:
        """Change the desk; returns the names of the files whose ids `change` returns with the new desk."""

        def attempt() -> Sequence[str]:
            seen = self._seen(agent_id)
            after, told = change(seen)
            if after != seen.desk:
                token = self._records.ids.token()
                put = self._records.files.put_desk(agent_id, seen.desk, after, token)
                self._records.writer.write(put, token=token)
            return [seen.files[file_id].name for file_id in told if file_id in seen.files]

        return self._records.until_settled(attempt)

    def _seen(self, agent_id: str) -> _AgentDesk:
        agent = self._records.agent(agent_id)
        files = {file.row.file_id: file for file in self._views.attached(agent)}
        return _AgentDesk(agent, files, self._records.files.desk(agent_id))

    def _unknown(self, agent: StoredAgent, file_id: str) -> NotFound | Conflict:
        """The error for a file that is not attached to the agent (NotFound), or has no text yet (Conflict)."""
        if self._records.files.rows_of(agent.source_ids, file_id):
            return Conflict(f"CONFLICT: File {file_id} has no text yet; its status says why.")
        return NotFound(f"File with id={file_id} is not attached to agent {agent.id}")


def attachment_id(agent_id: str, file_id: str) -> str:
    """The id of a file's attachment to an agent: derived from both ids, and sorted like the file's."""
    milliseconds, counter = order_of(file_id)
    hashed = int.from_bytes(hashlib.sha256(f"{agent_id}#{file_id}".encode()).digest()[:8]) >> 9
    return compose("file_agent", milliseconds, counter, hashed)
