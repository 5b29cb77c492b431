"""An agent's view of its files: windows of lines, the section of the system message, and which files are closed to make room.

Pure (RT 8.4 and 4.2). Displayed line numbers count from 1, the start of a window from 0. Unlike V1, prose is not
split into sentences and blank lines remain, so a line number is the number in the file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from hibernaut.domain.prompt_tags import attribute, escaped
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.file import Desk, OpenFile

TRUNCATED = "...[TRUNCATED]"
CUT = "# NOTE: This view is cut to its size limit. Open the file at a later line to see what follows."
MOST_CLOSED = 500
"""The number of closed files whose last access is remembered; with more, the desk would not fit into its item."""


@immutable
class FileWindow:
    """A window of a file as text, and its first and last line from 1 (0 and 0: empty)."""

    text: str
    first: int
    last: int


@immutable
class Cleared:
    """A desk after files were opened, and the files that were closed: by request, or to make room."""

    desk: Desk
    requested: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()


@immutable
class ShownFile:
    """A file in the system message. `name` includes the folder; `view` is None for a closed file."""

    name: str
    characters: int
    view: str | None


@immutable
class ShownFolder:
    """A folder in the system message, with the files of the agent in it."""

    name: str
    description: str | None
    instructions: str | None
    files: Sequence[ShownFile]


def view_of(lines: Sequence[str], *, start: int, total: int, limit: int, whole: bool) -> FileWindow:
    """The window whose first line is `lines[0]`, which is line `start` (from 0) of a file of `total` lines.

    `limit`: the number of characters shown at most. `whole`: the caller did not request a part of the file.
    """
    numbered = [f"{number}: {line}" for number, line in enumerate(lines, start + 1)]
    last = start + len(lines)
    if whole and start == 0:
        header = f"[Viewing file start (out of {total} lines)]"
    else:
        header = f"[Viewing lines {min(start + 1, total)} to {last} (out of {total} lines)]"
    text = "\n".join([header, *numbered])
    if len(text) <= limit:
        return FileWindow(text, start + 1 if lines else 0, last if lines else 0)
    note = f"{TRUNCATED}\n{CUT}"
    visible = text[: max(len(header), limit - len(note))]
    return FileWindow(visible + note, start + 1 if lines else 0, start + max(1, visible.count("\n")))


def opened(
    desk: Desk, windows: Mapping[str, OpenFile], *, most: int, attached: Collection[str], close_others: bool = False
) -> Cleared:
    """The desk with these files open, at most `most` files in all; the least recently used files are closed.

    `attached`: the files that are attached to the agent; others leave the desk silently. `close_others`: all other files are
    closed. The caller refuses requests for more than `most` files.
    """
    other_open = {file_id: file for file_id, file in desk.open.items() if file_id in attached and file_id not in windows}
    closed_others = tuple(other_open) if close_others else ()
    remaining = {} if close_others else dict(other_open)
    evicted = []
    while remaining and len(remaining) + len(windows) > most:
        oldest = min(remaining, key=lambda file_id: (remaining[file_id].accessed, file_id))
        evicted.append(oldest)
        del remaining[oldest]
    closed = {file_id: other_open[file_id].accessed for file_id in (*closed_others, *evicted)}
    last_accessed = {
        file_id: time for file_id, time in desk.last_accessed.items() if file_id in attached and file_id not in windows
    }
    return Cleared(_desk(desk, {**remaining, **windows}, {**last_accessed, **closed}), closed_others, tuple(evicted))


def filled(desk: Desk, files: Sequence[str], *, most: int, attached: Collection[str], now: datetime) -> Desk:
    """The desk with as many of the files opened, from their beginning, as fit with the open ones."""
    open_files = {file_id: file for file_id, file in desk.open.items() if file_id in attached}
    free = max(0, most - len(open_files))
    fresh = [file_id for file_id in files if file_id not in open_files][:free]
    return _desk(desk, {**open_files, **{file_id: OpenFile(accessed=now) for file_id in fresh}}, desk.last_accessed)


def closed(desk: Desk, file_ids: Collection[str]) -> Desk:
    """The desk without these files."""
    remaining = {file_id: file for file_id, file in desk.open.items() if file_id not in file_ids}
    just_closed = {file_id: file.accessed for file_id, file in desk.open.items() if file_id in file_ids}
    return _desk(desk, remaining, {**desk.last_accessed, **just_closed})


def looked_at(desk: Desk, file_ids: Collection[str], now: datetime) -> Desk:
    """The desk after a search found text in these files: they count as used most recently."""
    touched = {
        file_id: file.model_copy(update={"accessed": now}) if file_id in file_ids else file for file_id, file in desk.open.items()
    }
    return _desk(desk, touched, {**desk.last_accessed, **{file_id: now for file_id in file_ids if file_id not in desk.open}})


def _desk(before: Desk, open: Mapping[str, OpenFile], last_accessed: Mapping[str, datetime]) -> Desk:
    newest = sorted(last_accessed.items(), key=lambda each: each[1], reverse=True)[:MOST_CLOSED]
    return Desk(
        open=dict(open), last_accessed={file_id: time for file_id, time in newest if file_id not in open}, version=before.version
    )


def directories(folders: Sequence[ShownFolder], *, most: int, limit: int, labels: Sequence[str | None] = ()) -> str | None:
    """The section `<directories>` of the system message; None without folders. `limit`: the number of characters shown of each
    file.

    `labels` are the labels of the blocks in the same message.
    """
    if not folders:
        return None
    is_open = sum(file.view is not None for folder in folders for file in folder.files)
    limits = _tagged("file_limits", f"- current_files_open={is_open}\n- max_files_open={most}")
    return _tagged("directories", "\n".join([limits, *(_folder(folder, limit, labels) for folder in folders)]))


def _folder(folder: ShownFolder, limit: int, labels: Sequence[str | None]) -> str:
    texts = (("description", folder.description), ("instructions", folder.instructions))
    parts = [f"<{tag}>{escaped(text, labels)}</{tag}>" for tag, text in texts if text]
    parts += [_file(file, limit, labels) for file in folder.files]
    return "\n".join([f'<directory name="{attribute(folder.name)}">', *parts, "</directory>"])


def _file(file: ShownFile, limit: int, labels: Sequence[str | None]) -> str:
    facts = f"- read_only=true\n- chars_current={len(file.view or '')}\n- chars_limit={limit}"
    parts = [_tagged("metadata", facts), *([_tagged("value", escaped(file.view, labels))] if file.view is not None else [])]
    status = "open" if file.view is not None else "closed"
    return "\n".join([f'<file status="{status}" name="{attribute(file.name)}">', *parts, "</file>"])


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>"
