"""Blocks: pieces of core memory, alone or attached to agents.

A change of a block does not write the agents' system messages: their next runs recompile them. The limit of a block binds the
memory tools only; the API accepts longer values, as Letta V1 does. Must not know how a tool edits a block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from hibernaut.domain.wire.listing import Page
from hibernaut.ports.storage.table import Change, Item
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import Conflict, Forbidden
from hibernaut.schemas.events.facts import MOST_AGENT_IDS, MemoryChanged
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import BlockUpdate, CreateBlock, StoredBlock
from hibernaut.schemas.memory.version_faults import VersionConflict
from hibernaut.services.agents.agent_parts import new_block
from hibernaut.services.agents.agents import identities_match, tags_match
from hibernaut.services.records import Records, by_key, without
from hibernaut.store.table.lists.row_lists import RowList, Select
from hibernaut.store.versions.version_store import Edit


@immutable
class BlockFilter:
    """The filter of a list of blocks (Letta V1 API, API 2.10). `hidden`: include hidden blocks.

    `connected_*` compare the number of agents that a block is attached to; `connected_eq` lists the accepted numbers.
    `identifier_keys` names identities by their keys. Where rows are filtered, `identity_ids` has the ids of these identities, of
    which a block must have at least one.
    """

    label: str | None = None
    name: str | None = None
    templates_only: bool = False
    identity_id: str | None = None
    identifier_keys: Sequence[str] = ()
    identity_ids: Sequence[str] = ()
    project_id: str | None = None
    tags: Sequence[str] = ()
    match_all_tags: bool = False
    label_search: str | None = None
    description_search: str | None = None
    value_search: str | None = None
    connected_gt: int | None = None
    connected_lt: int | None = None
    connected_eq: Sequence[int] = ()
    hidden: bool = False

    def admits(self, row: Item) -> bool:
        """Whether a list row passes the filter, except for the criteria on the block's value and on its number of agents."""
        if row["hidden"] and not self.hidden:
            return False
        exact = {"label": self.label, "template_name": self.name, "project_id": self.project_id}
        if any(expected is not None and row[name] != expected for name, expected in exact.items()):
            return False
        if self.templates_only and not row["is_template"]:
            return False
        if not identities_match(row, self.identity_id, self.identity_ids):
            return False
        if not (contains(row["label"], self.label_search) and contains(row["description"], self.description_search)):
            return False
        return tags_match(row, self.tags, every=self.match_all_tags)

    @property
    def counts_agents(self) -> bool:
        return self.connected_gt is not None or self.connected_lt is not None or bool(self.connected_eq)

    def admits_count(self, agents: int) -> bool:
        """Whether a block that so many agents have passes the criteria on their number."""
        if self.connected_gt is not None and agents <= self.connected_gt:
            return False
        if self.connected_lt is not None and agents >= self.connected_lt:
            return False
        return not self.connected_eq or agents in self.connected_eq


EventTypes = Sequence[str] | None


class Blocks:
    """The use cases of blocks. Agents attach and detach them (`agent_updates`)."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def create(self, request: CreateBlock, *, key_id: str | None = None) -> StoredBlock:
        """Create a block. Several blocks may have the same label, but an agent may have only one of them. `key_id`: the caller's
        API key.
        """
        block = new_block(self._records.ids.new("block"), request, self._records.clock.now())
        token = self._records.ids.token()
        self._records.writer.write(*self._records.blocks.create(block, token, by_key(key_id)), token=token)
        return block

    def retrieve(self, block_id: str) -> StoredBlock:
        """The block. Raises: NotFound."""
        return self._records.block(block_id)

    def list(self, filters: BlockFilter, page: Page) -> Sequence[StoredBlock]:
        """A page of the blocks that pass the filter, by creation time. Raises: NotFound for a cursor."""
        if filters.identifier_keys:
            identity_ids = self._records.identities.with_keys(filters.identifier_keys)
            if not identity_ids:
                return []
            filters = replace(filters, identity_ids=identity_ids)
        counts: Mapping[str, int] = self._records.blocks.counts() if filters.counts_agents else {}

        def select(rows: Sequence[Item]) -> Sequence[Item]:
            rows = [row for row in rows if filters.admits(row)]
            if filters.counts_agents:
                rows = [row for row in rows if filters.admits_count(counts.get(str(row["sk"]), 0))]
            return self._with_value(rows, filters.value_search) if filters.value_search else rows

        holders = [filters.identity_id] if filters.identity_id is not None else filters.identity_ids
        if holders:
            links = self._records.identities.block_links(holders)
            found = links.page(page, lambda batch: self._among(links, batch, select))
            ids = [links.id_of(link) for link in found]
        else:
            ids = [str(row["sk"]) for row in self._records.blocks.listed().page(page, select)]
        blocks = self._records.blocks.get_many(ids)
        return [blocks[block_id] for block_id in ids if block_id in blocks]

    def _among(self, links: RowList, batch: Sequence[Item], select: Select) -> Sequence[Item]:
        """The links to the selected blocks. A link to a deleted block is left out."""
        rows = self._records.blocks.rows_of([links.id_of(link) for link in batch])
        selected = {str(row["sk"]) for row in select([row for row in rows.values() if "label" in row])}
        return [link for link in batch if links.id_of(link) in selected]

    def of_identity(self, identity_id: str, page: Page) -> Sequence[StoredBlock]:
        """A page of the blocks of an identity, hidden ones too, by creation time. Raises: NotFound for the identity or a
        cursor.
        """
        self._records.identity(identity_id)
        return self.list(BlockFilter(identity_id=identity_id, hidden=True), page)

    def count(self) -> int:
        """The number of blocks of the tenant."""
        return self._records.blocks.listed().count()

    def _with_value(self, rows: Sequence[Item], part: str) -> Sequence[Item]:
        """The rows of the blocks whose value contains the text, in any case."""
        found = self._records.blocks.get_many([str(row["sk"]) for row in rows])
        return [row for row in rows if str(row["sk"]) in found and contains(found[str(row["sk"])].value, part)]

    def update(
        self,
        block_id: str,
        request: BlockUpdate,
        *,
        user: str | None = None,
        agent_id: str | None = None,
        key_id: str | None = None,
        of_tool: bool = False,
    ) -> StoredBlock:
        """Apply the fields that are not null. `agent_id`: the agent whose route was used. `key_id`: the caller's API key.
        `of_tool`: a running tool asks; what is read-only for its agent is so for the tool.

        Raises: NotFound, Conflict if an agent has another block with the new label; VersionConflict if the block's version is not
        the `current_version` of the request; Forbidden if a tool may not change the block.
        """
        changes = set_fields(request)
        if not changes:
            return self._records.block(block_id)

        def decide(block: StoredBlock) -> JsonObject:
            if of_tool and block.read_only:
                raise Forbidden(
                    f"FORBIDDEN: Block {block.id} is read-only, for its agents and for their tools. A key of a person changes it."
                )
            check_version(block, request.current_version)
            return changes

        return self.change(block_id, decide, by_key(key_id), user=user, agent_id=agent_id)

    def change(
        self,
        block_id: str,
        decide: Callable[[StoredBlock], JsonObject],
        edit: Edit,
        *,
        user: str | None = None,
        agent_id: str | None = None,
    ) -> StoredBlock:
        """Set the fields that `decide` names for the current block. `edit`: the author. Raises: as `update`, and what `decide`
        raises.
        """

        def attempt() -> StoredBlock:
            events = self._records.events.reading()
            before = self._records.block(block_id, events)
            changes = decide(before)
            if changes.get("label", before.label) != before.label:
                self._refuse_taken(before, changes["label"])
            now = self._records.clock.now()
            stamps = {"updated_at": now, "last_updated_by_id": user or before.last_updated_by_id}
            after = before.model_copy(update={**changes, **stamps})
            token = self._records.ids.token()
            event = self._event(after, "updated", agent_id, events.types(), token)
            block_changes = self._records.blocks.change(before, after, token, edit)
            self._records.writer.write(*block_changes, *event, token=token)
            return after.model_copy(update={"version": before.version + 1})

        return self._records.until_settled(attempt)

    def _event(
        self,
        block: StoredBlock,
        change: Literal["updated", "deleted"],
        agent_id: str | None,
        types: EventTypes,
        token: str,
    ) -> Sequence[Change]:
        """The change that stores the event of a changed block. Its agents are read only if a webhook subscribes to them."""
        if types is None or MemoryChanged.type not in types:
            return []
        agents = self._records.blocks.agents_of(block.id)[:MOST_AGENT_IDS]
        fact = MemoryChanged(block.id, block.label, change, "api", agent_id, tuple(agents), None)
        return self._records.events.put([fact], types, token, self._records.clock.now())

    def _refuse_taken(self, block: StoredBlock, label: str) -> None:
        agents = self._records.agents.get_many(self._records.blocks.agents_of(block.id))
        other_blocks = self._records.blocks.get_many([one for agent in agents.values() for one in agent.block_ids])
        if any(other.label == label for other in other_blocks.values()):
            raise Conflict(f"CONFLICT: An agent's blocks have different labels: one has another block called '{label}'.")

    def delete(self, block_id: str, *, key_id: str | None = None) -> None:
        """Delete the block first, so that it cannot be attached any more, then detach it from its agents. Raises: NotFound,
        Conflict.
        """

        def attempt() -> StoredBlock:
            events = self._records.events.reading()
            block, token = self._records.block(block_id, events), self._records.ids.token()
            event = self._event(block, "deleted", None, events.types(), token)
            deleted = self._records.blocks.delete(block, self._records.clock.now(), token, by_key(key_id))
            self._records.writer.write(*deleted, *event, token=token)
            return block

        block = self._records.until_settled(attempt)
        leave_agents(self._records, block_id, by_key(key_id))
        for identity_id in block.identity_ids:
            self._records.writer.write(self._records.identities.detach_block(identity_id, block_id))


def leave_agents(records: Records, block_id: str, edit: Edit) -> None:
    """Detach a deleted block from its agents. `edit`: the author of the deletion."""

    agent_ids = records.blocks.agents_of(block_id)
    remove = without("block_ids", block_id)
    records.change_agents(agent_ids, remove, lambda agent_id: [records.blocks.detach(block_id, agent_id)], edit)


def set_fields(request: BlockUpdate) -> JsonObject:
    """The fields that an update sets: those present and not null."""
    names = request.model_fields_set - {"current_version"}
    return {name: value for name in names if (value := getattr(request, name)) is not None}


def check_version(block: StoredBlock, expected: int | None) -> None:
    """Raises: VersionConflict if the caller decided on another version of the block. None: on whichever it has."""
    if expected not in (None, block.version):
        raise VersionConflict(
            f"CONFLICT: Block {block.id} has version {block.version}, not {expected}: it was changed since.", block.version
        )


def contains(text: object, part: str | None) -> bool:
    """Whether the text contains `part`, in any case; True if `part` is None."""
    return part is None or part.lower() in str(text).lower()
