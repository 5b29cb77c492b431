"""The check of an erasure: looks for remnants of the records that the receipt names, in the table, in the blobs, and in the
index.

It looks by id: a receipt contains no message of the person that it could search for.
"""

from __future__ import annotations

from collections.abc import Iterator

from hibernaut.ports.memory.memory_index import IndexAsleep
from hibernaut.schemas.agents.erasure import MOST_FOUND, ErasureCheck, ErasureLine, ErasureRemnant, StoredErasure
from hibernaut.services.erasures.erasure_parts import ErasureParts
from hibernaut.store.identities.erasures import PAGE, place_of
from hibernaut.store.table import keys
from hibernaut.store.table.blob_keys import blob_owner

IN_TABLE, IN_BLOBS, IN_INDEX = "table:", "blobs:", "index:"
"""The beginnings of a check's cursor."""


class ErasureChecks:
    """The checks of one tenant's erasures."""

    def __init__(self, parts: ErasureParts) -> None:
        self._parts = parts
        self._tenant = parts.records.tenant

    def advance(self, erasure: StoredErasure) -> StoredErasure | None:
        """Take the next page; returns the erasure with its progress, or None if the check is complete. The remains are in its
        `check`.
        """
        if erasure.cursor.startswith(IN_BLOBS):
            return self._blobs(erasure)
        if erasure.cursor.startswith(IN_INDEX):
            return None
        after = erasure.cursor.removeprefix(IN_TABLE)
        lines = self._parts.stores.erasures.lines(erasure.id, after=after, limit=PAGE)
        found = [remnant for line in lines if line.extent == "whole" for remnant in self._in_table(line)]
        following = f"{IN_TABLE}{place_of(lines[-1])}" if len(lines) == PAGE else IN_BLOBS
        return _with(erasure, found, following)

    def _in_table(self, line: ErasureLine) -> Iterator[ErasureRemnant]:
        for partition, prefix in self._partitions(line):
            if not self._parts.stores.erasures.is_empty(partition, prefix):
                yield ErasureRemnant(where="table", kind=line.kind, id=line.id)
                break
        for place in (line.id, *line.conversation_ids) if line.kind in ("agent", "archive", "folder") else ():
            if not self._parts.stores.erasures.is_empty(keys.unindexed(self._tenant, place, "NEW", "-").pk):
                yield ErasureRemnant(where="index", kind=line.kind, id=place)

    def _partitions(self, line: ErasureLine) -> list[tuple[str, str]]:
        """The places of a record and of the records under it: partitions, with a prefix of the sort keys."""
        tenant, one = self._tenant, line.id
        match line.kind:
            case "agent":
                logs = [keys.head(tenant, each).pk for each in (one, *line.conversation_ids)]
                row = keys.agent_row(tenant, one)
                return [
                    (keys.agent(tenant, one).pk, ""),
                    (row.pk, row.sk),
                    (keys.gone(tenant, one).pk, ""),
                    *((log, "") for log in logs),
                ]
            case "block":
                row = keys.block_row(tenant, one)
                return [(keys.block(tenant, one).pk, ""), (row.pk, row.sk), (keys.block_agent(tenant, one, "").pk, f"{one}#")]
            case "archive":
                own, row = keys.archive(tenant, one).pk, keys.archive_row(tenant, one)
                return [(own, "PASSAGE#"), (own, "VERSION#"), (own, "TAG#"), (own, "AGENT#"), (row.pk, row.sk)]
            case "folder":
                row = keys.folder_row(tenant, one)
                return [(keys.folder(tenant, one).pk, ""), (row.pk, row.sk)]
            case "file":
                return [(keys.file(tenant, one).pk, "")]
            case _:
                return []

    def _blobs(self, erasure: StoredErasure) -> StoredErasure:
        erased_ids = self._erased(erasure)
        page = self._parts.blobs.purge(self._tenant, erasure.cursor.removeprefix(IN_BLOBS), erasure.started_at)
        owners = [owner for blob in page.remaining if (owner := blob_owner(blob)) is not None]
        found = [
            ErasureRemnant(where="blobs", kind=erased_ids[subject], id=subject)
            for owner in owners
            if (subject := keys.last_part(owner.pk)) in erased_ids
        ]
        return _with(erasure, found, f"{IN_BLOBS}{page.after}" if page.after else IN_INDEX)

    def _erased(self, erasure: StoredErasure) -> dict[str, str]:
        """The kinds of all that went whole, by id."""
        lines = [line for line in self._parts.stores.erasures.lines(erasure.id) if line.extent == "whole"]
        return {each: line.kind for line in lines for each in (line.id, *line.conversation_ids)}

    def in_index(self, erasure: StoredErasure) -> tuple[bool, list[ErasureRemnant]]:
        """Whether the index was queried, and the documents of erased records that it still contains."""
        index, erased_ids = self._parts.index, self._erased(erasure)
        if index is None:
            return False, []
        try:
            names = (state.id for space in index.spaces() for state in index.states(space, self._tenant))
            containers = {name.partition("/")[0] for name in names} & set(erased_ids)
        except IndexAsleep:
            return False, []
        return True, [ErasureRemnant(where="index", kind=erased_ids[each], id=each) for each in sorted(containers)]


def _with(erasure: StoredErasure, found: list[ErasureRemnant], cursor: str) -> StoredErasure:
    check = erasure.check or ErasureCheck(state="requested", requested_at=erasure.started_at)
    more = check.model_copy(update={"found": [*check.found, *found][:MOST_FOUND]})
    return erasure.model_copy(update={"check": more, "cursor": cursor})
