"""Blocks: pieces of core memory, alone or attached. An edit never writes an agent's system message: that follows at its next run.

The limit binds the memory tools; the API accepts longer values, as V1 does. Knows nothing of how a block is edited by a tool.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hibernaut.domain.wire.listing import Page
from hibernaut.ports.table import Item
from hibernaut.schemas.agent import StoredAgent
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.block import BlockUpdate, CreateBlock, StoredBlock
from hibernaut.schemas.errors import Conflict
from hibernaut.services.agents.agent_parts import new_block
from hibernaut.services.agents.agents import tags_match
from hibernaut.services.records import Records


@dataclass(frozen=True, slots=True)
class BlockFilter:
    """Which blocks a list shows (Letta V1 API, digest 2.10). Hidden ones only where `hidden` asks for them.

    `connected_*` compare the number of agents that a block is attached to; `connected_eq` names the numbers that will do.
    """

    label: str | None = None
    name: str | None = None
    templates_only: bool = False
    identity_id: str | None = None
    identifier_keys: Sequence[str] = ()
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
        """All but what needs the block's value or its agents."""
        if (row["hidden"] and not self.hidden) or self.identifier_keys:  # no identity has a key here yet
            return False
        exact = {"label": self.label, "template_name": self.name, "project_id": self.project_id}
        if any(wanted is not None and row[name] != wanted for name, wanted in exact.items()):
            return False
        if self.templates_only and not row["is_template"]:
            return False
        if self.identity_id is not None and self.identity_id not in json.loads(str(row["identity_ids"])):
            return False
        if not (contains(row["label"], self.label_search) and contains(row["description"], self.description_search)):
            return False
        return tags_match(row, self.tags, every=self.match_all_tags)

    @property
    def counts_agents(self) -> bool:
        return self.connected_gt is not None or self.connected_lt is not None or bool(self.connected_eq)

    def admits_count(self, agents: int) -> bool:
        if self.connected_gt is not None and agents <= self.connected_gt:
            return False
        if self.connected_lt is not None and agents >= self.connected_lt:
            return False
        return not self.connected_eq or agents in self.connected_eq


class Blocks:
    """Creates, changes, lists, attaches and deletes blocks."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def create(self, request: CreateBlock) -> StoredBlock:
        """Several blocks may have one label, as long as no agent has two of them."""
        block = new_block(self._records.ids.new("block"), request, self._records.clock.now())
        token = self._records.ids.token()
        self._records.writer.write(*self._records.blocks.create(block, token), token=token)
        return block

    def retrieve(self, block_id: str) -> StoredBlock:
        """Raises: NotFound."""
        return self._records.block(block_id)

    def list(self, wanted: BlockFilter, asked: Page) -> Sequence[StoredBlock]:
        """Ordered by the time of making."""
        counts: Mapping[str, int] = self._records.blocks.counts() if wanted.counts_agents else {}

        def select(rows: Sequence[Item]) -> Sequence[Item]:
            rows = [row for row in rows if wanted.admits(row)]
            if wanted.counts_agents:
                rows = [row for row in rows if wanted.admits_count(counts.get(str(row["sk"]), 0))]
            return self._with_value(rows, wanted.value_search) if wanted.value_search else rows

        ids = [str(row["sk"]) for row in self._records.blocks.listed().page(asked, select)]
        blocks = self._records.blocks.get_many(ids)
        return [blocks[block_id] for block_id in ids if block_id in blocks]

    def count(self) -> int:
        return self._records.blocks.listed().count()

    def _with_value(self, rows: Sequence[Item], part: str) -> Sequence[Item]:
        """The rows of blocks in whose values the text stands."""
        found = self._records.blocks.get_many([str(row["sk"]) for row in rows])
        return [row for row in rows if str(row["sk"]) in found and contains(found[str(row["sk"])].value, part)]

    def update(self, block_id: str, request: BlockUpdate, *, user: str | None = None) -> StoredBlock:
        """Apply what is not null. Raises: NotFound, Conflict where an agent has another block with the new label."""
        changes = given(request)
        if not changes:
            return self._records.block(block_id)

        def attempt() -> StoredBlock:
            before = self._records.block(block_id)
            if changes.get("label", before.label) != before.label:
                self._refuse_taken(before, changes["label"])
            touched = {"updated_at": self._records.clock.now(), "last_updated_by_id": user or before.last_updated_by_id}
            after = before.model_copy(update={**changes, **touched})
            token = self._records.ids.token()
            self._records.writer.write(*self._records.blocks.change(before, after, token), token=token)
            return after

        return self._records.until_settled(attempt)

    def _refuse_taken(self, block: StoredBlock, label: str) -> None:
        agents = self._records.agents.get_many(self._records.blocks.agents_of(block.id))
        others = self._records.blocks.get_many([one for agent in agents.values() for one in agent.block_ids])
        if any(other.label == label for other in others.values()):
            raise Conflict(f"CONFLICT: An agent's blocks have different labels: one has another block called '{label}'.")

    def delete(self, block_id: str) -> None:
        """The block first, so that nobody attaches it any more; then it leaves its agents. Raises: NotFound."""
        block = self._records.block(block_id)
        self._records.writer.write(*self._records.blocks.delete(block))
        for agent_id in self._records.blocks.agents_of(block_id):
            leave(self._records, agent_id, lambda agent: {"block_ids": [one for one in agent.block_ids if one != block_id]})
            self._records.writer.write(self._records.blocks.detach(block_id, agent_id))


def leave(records: Records, agent_id: str, without: Callable[[StoredAgent], JsonObject]) -> None:
    """Change an agent that something deleted was attached to; nothing happens where the agent is gone too."""
    if records.agents.get(agent_id) is not None:
        records.change_agent(agent_id, lambda agent: (agent.model_copy(update=without(agent)), []), None)


def given(request: BlockUpdate) -> JsonObject:
    """What an update sets: the fields that are there and not null."""
    return {name: value for name in request.model_fields_set if (value := getattr(request, name)) is not None}


def contains(text: object, part: str | None) -> bool:
    """Whether `part`, if there is one, stands somewhere in the text, in whatever case."""
    return part is None or part.lower() in str(text).lower()
