"""The notes of an import: what was repaired, replaced or left out. Equal notes are counted, so that their number stays small."""

from __future__ import annotations

from hibernaut.schemas.agents.agent_file import ImportNote, NoteKind

MOST_NOTES = 200
"""The largest number of notes in a reply."""


class ImportNotes:
    """Collects notes. Those of one code and detail are one note with the number of places."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, str], ImportNote] = {}
        self._more = 0

    def add(self, kind: NoteKind, code: str, place: str, detail: str) -> None:
        """Add a note about a place of the file, such as `agent-0` or `message-3`."""
        earlier = self._notes.get((code, detail))
        if earlier is not None:
            earlier.count += 1
        elif len(self._notes) < MOST_NOTES:
            self._notes[code, detail] = ImportNote(kind=kind, code=code, place=place[:200], detail=detail)
        else:
            self._more += 1

    def all(self) -> list[ImportNote]:
        """The notes in the order of their first places."""
        more = ImportNote(
            kind="repaired", code="more_notes", place="", count=self._more, detail=f"{self._more} further notes are not shown."
        )
        return [*self._notes.values(), *([more] if self._more else [])]
