"""The history of blocks: versions, differences, the value at a time, and rollbacks.

A rollback is a change like any other: it writes a version of its own, and nothing is erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hibernaut.domain.memory import versions
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.version import Author, BlockVersion, Rollback, VersionDiff
from hibernaut.services.memory.blocks import Blocks, check_version
from hibernaut.services.records import Records
from hibernaut.store.memory.blocks import state_of
from hibernaut.store.versions.history import History, VersionState, shown_state
from hibernaut.store.versions.version_store import Edit

RESTORED = ("label", "value", "limit", "description", "read_only", "metadata", "tags", "hidden")
"""The fields that a rollback brings back. Links to identities, projects and templates stay as they are."""


@immutable
class VersionPage:
    """A page of versions. `after` and `before`: numbers, exclusive, whatever the order."""

    after: int | None = None
    before: int | None = None
    limit: int = 50
    descending: bool = True


class BlockHistory:
    """The use cases of the versions of blocks."""

    def __init__(self, records: Records, blocks: Blocks) -> None:
        self._records = records
        self._blocks = blocks

    def _of(self, block_id: str, block: StoredBlock | None) -> History:
        return History(self._records.versions, self._records.blocks.history(block_id), state_of(block) if block else None)

    def _history(self, block_id: str) -> History:
        if not is_id(block_id, "block"):
            raise NotFound(f"Block with id '{block_id}' not found")
        return self._of(block_id, self._records.blocks.get(block_id))

    def page(self, block_id: str, query: VersionPage) -> Sequence[BlockVersion]:
        """A page of the versions of a block, without values. A deleted block's versions are listed until they expire. Raises:
        NotFound.
        """
        found = self._history(block_id).page(
            after=query.after, before=query.before, limit=query.limit, descending=query.descending
        )
        return [BlockVersion(**dict(one), block_id=block_id) for one in found]

    def version(self, block_id: str, number: int) -> BlockVersion:
        """The block as a version left it. Raises: NotFound, VersionExpired."""
        return _shown(block_id, self._history(block_id).state(number))

    def at(self, block_id: str, moment: datetime) -> BlockVersion:
        """The version in force at a time. Raises: NotFound, VersionExpired."""
        return _shown(block_id, self._history(block_id).at(moment))

    def diff(self, block_id: str, number: int, to: int | None = None) -> VersionDiff:
        """The differences between two versions; without `to`, the changes of the version itself. Raises: NotFound,
        VersionExpired.
        """
        history = self._history(block_id)
        first, last = (number, to) if to is not None else (number - 1, number)
        last_content = history.state(last).content or {}
        if first == 0:
            return VersionDiff(from_version=0, to_version=last, changes=versions.differences({}, last_content))
        changes = versions.differences(history.state(first).content or {}, last_content)
        return VersionDiff(from_version=first, to_version=last, changes=changes)

    def rollback(self, block_id: str, request: Rollback, *, user: str | None = None, key_id: str | None = None) -> BlockVersion:
        """Bring back the values of a version, as a new version.

        Raises: NotFound, VersionExpired; VersionConflict if the block's version is not the `current_version` of the request;
        InvalidArgument for the version of a deletion; Conflict if an agent has another block with the label.
        """

        def decide(block: StoredBlock) -> JsonObject:
            check_version(block, request.current_version)
            content = self._of(block_id, block).state(request.version).content
            if content is None:
                raise InvalidArgument(f"INVALID_ARGUMENT: Version {request.version} deleted the block, so it has no values.")
            past = StoredBlock.model_validate(content)
            return {name: getattr(past, name) for name in RESTORED}

        by = Author(source="api", key_id=key_id)
        block = self._blocks.change(block_id, decide, Edit(by, "rolled_back", request.version), user=user)
        return _shown(block_id, self._of(block_id, block).state(block.version))


def _shown(block_id: str, state: VersionState) -> BlockVersion:
    block = StoredBlock.model_validate(state.content).wire() if state.content is not None else None
    return BlockVersion(**dict(shown_state(state)), block_id=block_id, block=block)
