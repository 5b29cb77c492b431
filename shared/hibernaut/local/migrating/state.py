"""What a migration has done, in a file beside it: a line of JSON for each record that is on the target, and for each thing that
differs.

The file saves work and keeps the report. A migration without it asks the target what is there, and moves nothing twice.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TextIO

from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.base import Json, JsonObject


class MigrationState:
    """The moved records, by kind and id, each with its facts, and the notes."""

    def __init__(self, file: Path, about: JsonObject) -> None:
        """`about`: the source and the target, which the file must be of. Raises: CannotServe."""
        self._file = file
        self._moved: dict[tuple[str, str], JsonObject] = {}
        self.notes: list[JsonObject] = []
        try:
            lines = self._file.read_text(encoding="utf-8").splitlines() if file.exists() else []
            self._read(lines, about)
            self._out: TextIO = file.open("a", encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CannotServe(f"{file} cannot be used: {error}; name another file by --state", 2) from None
        if not lines:
            self._write({"about": about})
        else:
            self._out.write("\n")  # ends an incomplete line of a killed process

    def _read(self, lines: list[str], about: JsonObject) -> None:
        for line in lines:
            try:
                read = json.loads(line)
            except ValueError:
                continue
            if "about" in read and read["about"] != about:
                raise CannotServe(f"{self._file} is of another migration: {read['about']}; name another file by --state", 2)
            if "kind" in read:
                self._moved[read["kind"], read["id"]] = read["known"]
            if "note" in read:
                self.notes.append(read["note"])

    def moved(self, kind: str, identifier: str) -> JsonObject | None:
        """The facts of a moved record; None if it was not moved."""
        return self._moved.get((kind, identifier))

    def of_kind(self, kind: str) -> dict[str, JsonObject]:
        """The facts of the moved records of a kind, by id."""
        return {identifier: facts for (one, identifier), facts in self._moved.items() if one == kind}

    def add(self, kind: str, identifier: str, **facts: Json) -> None:
        """Note that a record is on the target."""
        self._moved[kind, identifier] = facts
        self._write({"kind": kind, "id": identifier, "known": facts})

    def note(self, note: JsonObject) -> None:
        """Record something that differs, once."""
        if note not in self.notes:
            self.notes.append(note)
            self._write({"note": note})

    def _write(self, value: JsonObject) -> None:
        self._out.write(json.dumps(value) + "\n")
        self._out.flush()

    def close(self) -> None:
        self._out.close()
