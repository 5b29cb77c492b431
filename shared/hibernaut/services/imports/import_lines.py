"""The form in which an import is stored until its agents exist: lines of JSON.

The first line has the records (`StagedImport`). One line for each message of all agents follows, as the table stores it, then one
for the text of each file, then one for each archival passage. A reader needs one line at a time, so a large import needs little
more memory than its bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import field

from hibernaut.schemas.agents.staged_import import StagedImport
from hibernaut.schemas.base import Schema
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.messages.message import Message, Role
from hibernaut.store.conversations.conversations import RowText
from hibernaut.store.table.bodies.codec import json_of


class _RowName(Schema):
    """The identification of a row in the table."""

    id: str
    role: Role


def line_of(row: Message | Passage) -> bytes:
    """A message, or a passage, as a line."""
    return json_of(row).encode()


def joined(staged: StagedImport, lines: Sequence[bytes]) -> bytes:
    """The stored form."""
    return b"\n".join([staged.model_dump_json().encode(), *lines])


@immutable
class ImportLines:
    """The stored form, split. `data`: all of it."""

    data: bytes = field(repr=False)
    staged: StagedImport
    _starts: Sequence[int]

    @classmethod
    def of(cls, data: bytes) -> ImportLines:
        """Find the lines in the stored form and read the first one. Raises: ValidationError (pydantic) if that is no
        `StagedImport`.
        """
        end = data.find(b"\n")
        starts = [end + 1] if end >= 0 else []
        while starts and (end := data.find(b"\n", starts[-1])) >= 0:
            starts.append(end + 1)
        first = data[: starts[0] - 1] if starts else data
        return cls(data, StagedImport.model_validate_json(first), starts)

    @property
    def messages(self) -> int:
        """The number of messages of all conversations."""
        further = sum(one.rows for agent in self.staged.agents for one in agent.conversations)
        return further + sum(agent.rows for agent in self.staged.agents)

    def passages(self, after: int) -> Iterator[Passage]:
        """The passages of all archives behind the first `after` ones."""
        begin = self.messages + len(self.staged.files)
        for at in range(begin + after, begin + sum(one.passages for one in self.staged.archives)):
            yield Passage.model_validate_json(self._line(at))

    def rows(self, after: int) -> Iterator[RowText]:
        """The messages behind the first `after` ones."""
        for at in range(after, self.messages):
            line = self._line(at)
            name = _RowName.model_validate_json(line)
            yield RowText(name.id, name.role, line.decode())

    def text(self, file: int) -> str:
        """The text of the file with this place in `files`."""
        text: str = json.loads(self._line(self.messages + file))
        return text

    def _line(self, at: int) -> bytes:
        end = self._starts[at + 1] - 1 if at + 1 < len(self._starts) else len(self.data)
        return self.data[self._starts[at] : end]
