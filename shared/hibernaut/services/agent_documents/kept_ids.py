"""Imports that keep the ids of their file, so that a repeated import adds nothing: what exists is used as it is, and what was
deleted stays deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import MAXYEAR, datetime

from pydantic import TypeAdapter, ValidationError

from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.schemas.agents.agent_file import MOST_RESERVED_IDS
from hibernaut.schemas.base import JsonObject, Moment
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.memory.file import StoredFile
from hibernaut.services.records import Records

_MOMENT: TypeAdapter[datetime] = TypeAdapter(Moment)


class KeptIds:
    """The ids of the records of one import. `files`: the files of the document that exist here, by their ids."""

    def __init__(self, records: Records, notes: ImportNotes, complete: Callable[[Sequence[str]], None], *, keep: bool) -> None:
        """`complete` completes the imports that have reserved some agents; `keep`: whether the ids of the file are kept."""
        self.notes = notes
        self.enabled = keep
        self.files: dict[str, StoredFile] = {}
        self._taken: set[str] = set()
        self._records = records
        self._complete = complete

    def of(self, kind: str, local: str) -> str:
        """The id of a record that has the id `local` in the file."""
        return local if self.enabled and is_id(local, kind) and local not in self._taken else self._records.ids.new(kind)

    def time(self, raw: JsonObject, name: str, now: datetime) -> datetime:
        """The time of a record: that of the file if ids are kept, or else `now`, also for the calendar's last year: what is
        written in an order has times one microsecond apart.
        """
        try:
            found = _MOMENT.validate_python(raw[name]) if self.enabled and raw.get(name) else now
        except ValidationError:
            return now
        return found if found.year < MAXYEAR else now

    def settle(self, document: JsonObject) -> None:
        """Leave agents and groups that exist, and blocks that were deleted here, out of the document. Raises: InvalidArgument
        (too many agents), OSError, StoreUnavailable.
        """
        if not self.enabled:
            return
        self._settle_agents(document)
        self._settle_blocks(document)
        if groups := _ids(document, "groups", "group"):
            existing = self._records.groups.get_many(groups)
            document["groups"] = [raw for raw in document["groups"] if raw["id"] not in existing]
        if tools := _ids(document, "tools", "tool"):
            self._taken = set(
                self._records.tools.get_many(tools)
            )  # tools are found by their names; one of another name has the id
        if files := _ids(document, "files", "file"):
            self.files = dict(self._records.files.get_many(files))

    def _settle_agents(self, document: JsonObject) -> None:
        if len(document["agents"]) > MOST_RESERVED_IDS:
            raise InvalidArgument(
                f"INVALID_ARGUMENT: A file whose ids are kept may have {MOST_RESERVED_IDS} agents, not {len(document['agents'])}."
            )
        ids = _ids(document, "agents", "agent")
        if not ids:
            return
        self._complete(ids)
        existing = self._records.agents.get_many(ids)
        for agent_id in existing:
            self.notes.add("left_out", "agent_exists", agent_id, "Agents that exist here were left as they are.")
        document["agents"] = [raw for raw in document["agents"] if raw["id"] not in existing]

    def _settle_blocks(self, document: JsonObject) -> None:
        ids = _ids(document, "blocks", "block")
        existing = self._records.blocks.get_many(ids) if ids else {}
        deleted = {
            one for one in ids if one not in existing and self._records.versions.page(self._records.blocks.history(one), limit=1)
        }
        for block_id in deleted:
            self.notes.add("left_out", "block_deleted", block_id, "Blocks that were deleted here were not brought back.")
        document["blocks"] = [raw for raw in document["blocks"] if raw["id"] not in deleted]


def _ids(document: JsonObject, name: str, kind: str) -> list[str]:
    """The ids of the entries of a list that can be kept."""
    return [raw["id"] for raw in document[name] if is_id(str(raw["id"]), kind)]
