"""The history of blocks: versions, differences, the value at a time, rollbacks, and what a run changed.

A rollback is a change like any other: it writes a version of its own, and nothing is erased.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from hibernaut.domain.memory import versions
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.version import Author, BlockVersion, Rollback, RunVersion, VersionDiff
from hibernaut.schemas.memory.version_faults import VersionConflict, VersionExpired
from hibernaut.services.memory.blocks import Blocks
from hibernaut.services.records import Records
from hibernaut.store.memory.blocks import state_of
from hibernaut.store.runs.runs import RunStore
from hibernaut.store.versions.history import History, VersionState, shown_state
from hibernaut.store.versions.version_store import Edit

RESTORED = ("label", "value", "limit", "description", "read_only", "metadata", "tags", "hidden")
"""The fields that a rollback brings back. Links to identities, projects and templates stay as they are."""


@dataclass(frozen=True, slots=True)
class VersionPage:
    """A page of versions. `after` and `before`: numbers, exclusive, whatever the order."""

    after: int | None = None
    before: int | None = None
    limit: int = 50
    descending: bool = True


class BlockHistory:
    """The use cases of the versions of blocks."""

    def __init__(self, records: Records, blocks: Blocks, runs: RunStore) -> None:
        self._records = records
        self._blocks = blocks
        self._runs = runs

    def _of(self, block_id: str, block: StoredBlock | None) -> History:
        return History(self._records.versions, self._records.blocks.history(block_id), state_of(block) if block else None)

    def _history(self, block_id: str) -> History:
        if not is_id(block_id, "block"):
            raise NotFound(f"Block with id '{block_id}' not found")
        return self._of(block_id, self._records.blocks.get(block_id))

    def page(self, block_id: str, asked: VersionPage) -> Sequence[BlockVersion]:
        """A page of the versions of a block, without values. A deleted block's versions are listed until they expire. Raises: NotFound."""
        found = self._history(block_id).page(
            after=asked.after, before=asked.before, limit=asked.limit, descending=asked.descending
        )
        return [BlockVersion(**dict(one), block_id=block_id) for one in found]

    def version(self, block_id: str, number: int) -> BlockVersion:
        """The block as a version left it. Raises: NotFound, VersionExpired."""
        return _shown(block_id, self._history(block_id).state(number))

    def at(self, block_id: str, moment: datetime) -> BlockVersion:
        """The version in force at a time. Raises: NotFound, VersionExpired."""
        return _shown(block_id, self._history(block_id).at(moment))

    def diff(self, block_id: str, number: int, to: int | None = None) -> VersionDiff:
        """What differs from a version to another one; without `to`, what the version itself changed. Raises: NotFound, VersionExpired."""
        history = self._history(block_id)
        first, last = (number, to) if to is not None else (number - 1, number)
        last_content = history.state(last).content or {}
        if first == 0:
            return VersionDiff(from_version=0, to_version=last, changes=versions.differences({}, last_content))
        changes = versions.differences(history.state(first).content or {}, last_content)
        return VersionDiff(from_version=first, to_version=last, changes=changes)

    def rollback(self, block_id: str, request: Rollback, *, user: str | None = None, key_id: str | None = None) -> BlockVersion:
        """Bring back the values of a version, as a new version.

        Raises: NotFound, VersionExpired; VersionConflict if the block's version is not the `current_version` of the request; InvalidArgument for the
        version of a deletion; Conflict if an agent has another block with the label.
        """

        def decide(block: StoredBlock) -> JsonObject:
            if request.current_version not in (None, block.version):
                raise VersionConflict(
                    f"CONFLICT: Block {block_id} has version {block.version}, not {request.current_version}: it was changed since.",
                    block.version,
                )
            content = self._of(block_id, block).state(request.version).content
            if content is None:
                raise InvalidArgument(f"INVALID_ARGUMENT: Version {request.version} deleted the block, so it has no values.")
            past = StoredBlock.model_validate(content)
            return {name: getattr(past, name) for name in RESTORED}

        by = Author(source="api", key_id=key_id)
        block = self._blocks.change(block_id, decide, Edit(by, "rolled_back", request.version), user=user)
        return _shown(block_id, self._of(block_id, block).state(block.version))

    def versions_of_run(self, run_id: str, *, after: str | None = None, limit: int = 50) -> Sequence[RunVersion]:
        """What a run changed in blocks, by block and version, with the differences. Expired versions are left out.

        `after`: `block-…:number` of the last entry of the page before. Raises: NotFound, InvalidArgument.
        """
        state = self._runs.get(run_id) if is_id(run_id, "run") else None
        if state is None:
            raise NotFound(f"Run with ID {run_id} not found")
        return list(islice(self._written(state.run.memory_versions, _place(after)), limit))

    def _written(self, ranges: dict[str, list[list[int]]], after: tuple[str, int]) -> Iterator[RunVersion]:
        for block_id in sorted(ranges):
            numbers = [number for first, last in ranges[block_id] for number in range(first, last + 1)]
            wanted = [number for number in numbers if (block_id, number) > after]
            history = self._history(block_id) if wanted else None
            for number in wanted:
                if history is not None and (found := self._of_version(history, block_id, number)) is not None:
                    yield found

    def _of_version(self, history: History, block_id: str, number: int) -> RunVersion | None:
        stored, before, left = self._records.versions.pair(self._records.blocks.history(block_id), number)
        if stored is None:
            return None
        try:
            content = left if left is not None else history.state(number).content or {}
        except (NotFound, VersionExpired):
            return None
        shown = shown_state(VersionState(number, content, stored))
        label = content.get("label") or (before or {}).get("label")
        return RunVersion(block_id=block_id, label=label, version=shown, changes=versions.differences(before or {}, content))


def _place(after: str | None) -> tuple[str, int]:
    block_id, _, number = (after or ":0").rpartition(":")
    if not number.isdecimal() or len(number) > 15:
        raise InvalidArgument("INVALID_ARGUMENT: `after` must be a block's id, a colon, and a version, such as block-…:3.")
    return block_id, int(number)


def _shown(block_id: str, state: VersionState) -> BlockVersion:
    block = StoredBlock.model_validate(state.content).wire() if state.content is not None else None
    return BlockVersion(**dict(shown_state(state)), block_id=block_id, block=block)
