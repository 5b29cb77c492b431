"""The file tools of agents: open windows of files, search by pattern, and search by meaning (RT 5.5 and 8.4).

Changes to the agent's desk (its open files) are part of the step's transaction. The tool return also contains the text of the
opened windows, because the system message shows them only from the next run on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

from hibernaut.domain.files import file_views
from hibernaut.domain.files.file_matches import CONTEXT, PAGE, GrepResult, Match, grep_text, include_pattern, searched_text
from hibernaut.domain.files.file_texts import lines_of
from hibernaut.domain.turn.actor import Call
from hibernaut.ports.memory.file_reader import BadPattern, TooSlow
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.file import Desk, OpenFile
from hibernaut.services.host import Host
from hibernaut.services.prompt.file_views import AttachedFile, FileViews, limits_of, named
from hibernaut.services.search.hybrid_search import HybridSearch, SearchScope
from hibernaut.services.steps.step_work import DeskChange, StepWork
from hibernaut.services.tool_calls.tool_arguments import BadToolArguments, text_argument
from hibernaut.store.stores import TenantStores

LONGEST_PATTERN = 1_000
SECONDS_TO_GREP = 20.0
LARGEST_FILE, LARGEST_TOTAL = 50_000_000, 200_000_000
"""The maximum size in characters of one file, and of all files together, in a pattern search."""
TOGETHER = 4_000_000
"""The maximum size in characters of a batch of files in a pattern search."""
MOST_MATCHES = 1_000
MOST_HITS = 50
RETURNED = 40_000
"""The maximum number of characters of opened windows in a tool return."""


@immutable
class FileAnswer:
    """The return of a call to the model, and its change to the desk, if any."""

    status: Literal["success", "error"]
    message: str
    desk: DeskChange | None = None


@immutable
class _FilesInReach:
    """The agent's files by id, its desk before the step, and the desk after the step's earlier calls."""

    files: dict[str, AttachedFile]
    before: Desk
    desk: Desk


class FileTools:
    """The file tools of agents."""

    def __init__(self, stores: TenantStores, host: Host, search: HybridSearch) -> None:
        self._stores = stores
        self._clock = host.clock
        self._reader = host.reader
        self._search = search
        self._views = FileViews(stores)

    def call(self, work: StepWork, call: Call) -> FileAnswer:
        """Perform one call. Invalid arguments and unreadable files are error returns, not exceptions."""
        reach = self._files_in_reach(work)
        try:
            match call.name:
                case "open_files":
                    return self._open(work, reach, call.args)
                case "grep_files":
                    return self._grep(reach, call.args)
                case "semantic_search_files":
                    return self._semantic(work, reach, call.args)
                case _:
                    return FileAnswer("error", f"{call.name} cannot be used on this server.")
        except BadToolArguments as refusal:
            return FileAnswer("error", str(refusal))
        except (OSError, KeyError):
            return FileAnswer("error", "The files could not be read just now. Try again.")

    def _files_in_reach(self, work: StepWork) -> _FilesInReach:
        files = {file.row.file_id: file for file in self._views.attached(work.agent)}
        change = work.effects.desk
        before = change.before if change else self._stores.files.desk(work.agent.id)
        return _FilesInReach(files, before, change.after if change else before)

    def _open(self, work: StepWork, reach: _FilesInReach, args: JsonObject) -> FileAnswer:
        most = limits_of(work.agent)[0]
        requests = _requests(args)
        if len(requests) > most:
            raise BadToolArguments(f"At most {most} files can be open at once, and the call names {len(requests)}. Open fewer.")
        now = self._clock.now()
        windows: dict[str, OpenFile] = {}
        for name, offset, length in requests:
            file = self._file(reach, name)
            if offset and offset >= file.row.lines:
                raise BadToolArguments(f"{file.name} has {file.row.lines} lines: `offset` counts from 0 and must be below that.")
            windows[file.row.file_id] = OpenFile(start=offset, length=length, accessed=now)
        close_others = args.get("close_all_others") is True
        cleared = file_views.opened(reach.desk, windows, most=most, attached=reach.files, close_others=close_others)
        message = self._opened_text(work, reach, windows, cleared)
        return FileAnswer("success", message, DeskChange(reach.before, cleared.desk))

    def _opened_text(
        self, work: StepWork, reach: _FilesInReach, windows: dict[str, OpenFile], cleared: file_views.Cleared
    ) -> str:
        opened, texts, room = [], [], RETURNED
        for file_id, window in windows.items():
            file = reach.files[file_id]
            view = self._views.view(work.agent, file.row, window)
            before = reach.desk.open.get(file_id)
            earlier = self._views.view(work.agent, file.row, before) if before else None
            previous = f" (before: lines {earlier.first}-{earlier.last})" if earlier and earlier.first != view.first else ""
            opened.append(f"{file.name} (lines {view.first}-{view.last}){previous}")
            text_now = view.text if len(view.text) <= room else "Its text stands in your context from the next message on."
            room -= min(room, len(view.text))
            texts.append(f"=== {file.name} ===\n{text_now}")
        head = f"* Opened {opened[0]}" if len(opened) == 1 else f"* Opened {len(opened)} files: {', '.join(opened)}"
        notes = [head]
        if cleared.requested:
            notes.append(f"* Closed as you asked: {_names(reach, cleared.requested)}")
        if cleared.evicted:
            notes.append(f"* Closed to make room, as least recently used: {_names(reach, cleared.evicted)}")
        return "\n\n".join(["\n".join(notes), *texts])

    def _file(self, reach: _FilesInReach, name: str) -> AttachedFile:
        file = named(list(reach.files.values()), name)
        if file is None:
            names = ", ".join(sorted(one.name for one in reach.files.values())[:50]) or "none"
            raise BadToolArguments(f"There is no file {name}. Your files: {names}.")
        return file

    def _grep(self, reach: _FilesInReach, args: JsonObject) -> FileAnswer:
        pattern = text_argument(args, "pattern")
        if not pattern.strip() or len(pattern) > LONGEST_PATTERN:
            raise BadToolArguments(f"`pattern` must be a regular expression of 1 to {LONGEST_PATTERN} characters.")
        include = text_argument(args, "include")
        offset, context = _whole(args, "offset", 0, least=0), _whole(args, "context_lines", CONTEXT, least=0, most=50)
        files = list(reach.files.values())
        if include:
            try:
                indices = set(
                    self._reader.matching([file.name for file in files], include_pattern(include), seconds=5, most=10_000)
                )
            except (BadPattern, TooSlow):
                raise BadToolArguments("`include` must be a pattern of file names, such as *.py.") from None
            files = [file for index, file in enumerate(files) if index in indices]
        found = self._matches(files, pattern)
        desk = file_views.looked_at(reach.desk, {match.file_id for match in found.matches}, self._clock.now())
        excerpts = self._with_context(found, offset, context)
        message = grep_text(found, excerpts, pattern=pattern, include=include, context=context, offset=offset)
        return FileAnswer("success", message, DeskChange(reach.before, desk) if desk != reach.desk else None)

    def _matches(self, files: Sequence[AttachedFile], pattern: str) -> GrepResult:
        """The matches in the files, up to the limits, with the names of skipped files. Raises: BadToolArguments."""
        deadline = self._clock.monotonic() + SECONDS_TO_GREP
        found: list[Match] = []
        batches, skipped = _batches(files)
        for batch in batches:
            if len(found) >= MOST_MATCHES:
                skipped += [file.name for file in batch]
                continue
            try:
                found += self._in_files(batch, pattern, deadline, MOST_MATCHES - len(found))
            except BadPattern as error:
                raise BadToolArguments(f"`pattern` is no regular expression: {error}.") from None
            except TooSlow:
                raise BadToolArguments(
                    f"The pattern takes longer than {SECONDS_TO_GREP:.0f} seconds on these files. "
                    "Make it simpler (nested repetitions are slow), or narrow the files by `include`."
                ) from None
        return GrepResult(tuple(found), tuple(skipped), cut=len(found) >= MOST_MATCHES)

    def _in_files(self, batch: Sequence[AttachedFile], pattern: str, deadline: float, most: int) -> list[Match]:
        """The matches in one batch of files. Raises: BadPattern, TooSlow, KeyError, OSError."""
        records = self._stores.files.get_many([file.row.file_id for file in batch])
        lines: list[str] = []
        starts: list[tuple[int, AttachedFile]] = []
        for file in batch:
            if file.row.file_id in records:
                starts.append((len(lines), file))
                lines += lines_of("".join(self._views.parts(records[file.row.file_id])))
        seconds_left = deadline - self._clock.monotonic()
        if seconds_left <= 0:
            raise TooSlow
        indices = self._reader.matching(lines, pattern, seconds=seconds_left, most=most) if lines else []
        places = [start for start, _ in starts]
        matches = []
        for index in indices:
            start, file = starts[bisect_right(places, index) - 1]
            matches.append(Match(file.row.file_id, file.name, index - start + 1))
        return matches

    def _with_context(self, found: GrepResult, offset: int, context: int) -> list[tuple[Match, list[str], int]]:
        """The matches of one page, each with its context lines and the number of the first of these lines."""
        excerpts = []
        for match in found.matches[offset : offset + PAGE]:
            first = max(1, match.line - context)
            record = self._stores.files.get(match.file_id)
            count = match.line + context - first + 1
            lines = self._views.lines(record, first - 1, count, LARGEST_FILE) if record else []
            excerpts.append((match, lines, first))
        return excerpts

    def _semantic(self, work: StepWork, reach: _FilesInReach, args: JsonObject) -> FileAnswer:
        query = text_argument(args, "query").strip()
        if not query:
            raise BadToolArguments("`query` must say what you look for.")
        limit = _whole(args, "limit", 5, most=MOST_HITS)
        scope = SearchScope("file", tuple(work.agent.source_ids))
        searched = self._search.passages(scope, query, limit=limit)
        hits = [hit for hit in searched.hits if hit.record.file_id in reach.files]
        names = {file_id: file.name for file_id, file in reach.files.items()}
        touched = {str(hit.record.file_id) for hit in hits}
        desk = file_views.looked_at(reach.desk, touched, self._clock.now())
        notes = [*_search_notes(searched.words_only, searched.incomplete or searched.asleep), *self._progress(reach)]
        message = searched_text(query, [(names[str(hit.record.file_id)], hit.record, hit.score) for hit in hits], notes)
        return FileAnswer("success", message, DeskChange(reach.before, desk) if desk != reach.desk else None)

    def _progress(self, reach: _FilesInReach) -> list[str]:
        """A note with the progress of each file whose embedding is not finished."""
        files = self._stores.files.get_many(list(reach.files)).values()
        unfinished = [(file, min(file.embedded, file.total or 0)) for file in files if file.status == "embedding"]
        return [
            f"{reach.files[file.id].name} is still being embedded ({100 * embedded // max(1, file.total or 1)} % done): "
            "the rest of it is found by its words only."
            for file, embedded in unfinished
        ]


def _search_notes(words_only: bool, incomplete: bool) -> list[str]:
    notes = ["Nothing here embeds texts, so these were found by their words."] if words_only else []
    return [*notes, *(["The search index is behind, so something may be missing."] if incomplete else [])]


def _batches(files: Sequence[AttachedFile]) -> tuple[list[list[AttachedFile]], list[str]]:
    """The files in batches, and the names of the files that exceed the limits."""
    batches: list[list[AttachedFile]] = []
    skipped, total, size = [], 0, TOGETHER
    for file in files:
        characters = file.row.characters
        if characters > LARGEST_FILE or total + characters > LARGEST_TOTAL:
            skipped.append(file.name)
            continue
        if size + characters > TOGETHER:
            batches.append([])
            size = 0
        batches[-1].append(file)
        total, size = total + characters, size + characters
    return batches, skipped


def _names(reach: _FilesInReach, file_ids: Sequence[str]) -> str:
    return ", ".join(reach.files[file_id].name for file_id in file_ids if file_id in reach.files)


def _requests(args: JsonObject) -> list[tuple[str, int, int | None]]:
    """The (name, offset, length) of each request. Raises: BadToolArguments."""
    requests: Json = args.get("file_requests")
    requests = [requests] if isinstance(requests, dict | str) else requests
    if not isinstance(requests, list) or not requests:
        raise BadToolArguments(
            "`file_requests` must be a list of objects with `file_name`, and `offset` and `length` if you like."
        )
    parsed = []
    for one in requests:
        one = {"file_name": one} if isinstance(one, str) else one
        if not isinstance(one, dict) or not isinstance(one.get("file_name"), str):
            raise BadToolArguments("Each of `file_requests` must have a `file_name`.")
        length = None if one.get("length") is None else _whole(one, "length", 1)
        parsed.append((one["file_name"], _whole(one, "offset", 0, least=0), length))
    return parsed


def _whole(args: JsonObject, name: str, default: int, *, least: int = 1, most: int = 2**31) -> int:
    value = args.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise BadToolArguments(f"`{name}` must be a whole number from {least} on.")
    return min(value, most)
