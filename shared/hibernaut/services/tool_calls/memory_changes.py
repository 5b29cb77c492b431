"""The changes to core memory and open files in a step's transaction, computed from their state before and after the step's
tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from hibernaut.ports.storage.table import Change
from hibernaut.schemas.events.facts import MemoryChanged
from hibernaut.schemas.memory.block import Block, StoredBlock
from hibernaut.schemas.memory.version import Author
from hibernaut.services.host import Host
from hibernaut.services.steps.step_work import StepWork
from hibernaut.store.stores import TenantStores
from hibernaut.store.versions.version_store import Edit

ARCHIVAL_INSERT = "archival_memory_insert"
"""The tool that inserts passages."""
_EDITABLE = ("value", "label", "description")


class MemoryEdits(NamedTuple):
    """The changes of a step beside the log, each with its own condition, what events tell of them, and the versions of blocks and
    of the agent that they write.
    """

    changes: list[Change]
    facts: tuple[MemoryChanged, ...]
    versions: tuple[tuple[str, int], ...] = ()


class _Writing(NamedTuple):
    """When a step's transaction is made, the token of its writer, and who makes the changes."""

    now: datetime
    token: str
    by: Author


class MemoryChanges:
    """Turns edits of core memory and of open files into conditional changes."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._blocks = stores.blocks
        self._agents = stores.agents
        self._files = stores.files
        self._records = stores.conversation_records
        self._ids = host.ids

    def of(self, work: StepWork, now: datetime, token: str, by: Author) -> MemoryEdits:
        """The changes that write the blocks and the open files with the edits of the step's tools. Each edit has a condition on
        the version. `by`: the author; the tools are added.
        """
        writing = _Writing(now, token, by)
        before = {block.id: block for block in work.blocks}
        after = {block.id: block for block in work.effects.blocks if block.id}
        changes, facts, versions = list[Change](), list[MemoryChanged](), list[tuple[str, int]]()
        for block_id, old in before.items():
            edits = {name: getattr(after[block_id], name) for name in _EDITABLE} if block_id in after else {}
            edits = {name: value for name, value in edits.items() if value != getattr(old, name)}
            if edits:
                edit = Edit(_with_tools(by, work, block_id), at=now)
                changes += self._blocks.change(old, old.model_copy(update={**edits, "updated_at": now}), token, edit)
                versions.append((block_id, old.version + 1))
                facts.append(_fact(work, after[block_id], "updated"))
        removed = [block_id for block_id in before if block_id not in after]
        created = self._created_blocks(work, now)
        facts += [_fact(work, block, "created") for block in created] + [
            _fact(work, before[each], "detached") for each in removed
        ]
        changes += [*self._links(work, writing, created=created, removed=removed), *self._desk(work, token)]
        versions += [(block.id, block.version) for block in created]
        if created or any(block_id in work.agent.block_ids for block_id in removed):
            versions.append((work.agent.id, work.agent.version + 1))
        return MemoryEdits(changes, tuple(facts), tuple(versions))

    def _desk(self, work: StepWork, token: str) -> list[Change]:
        """The change of the agent's open files; empty if the step did not change them."""
        desk = work.effects.desk
        return [] if desk is None else [self._files.put_desk(work.agent.id, desk.before, desk.after, token)]

    def _created_blocks(self, work: StepWork, now: datetime) -> list[StoredBlock]:
        """The blocks that a tool created, with ids."""
        return [
            StoredBlock(
                id=self._ids.new("block"),
                label=block.label,
                value=block.value,
                description=block.description,
                created_at=now,
                updated_at=now,
            )
            for block in work.effects.blocks
            if not block.id
        ]

    def _links(self, work: StepWork, writing: _Writing, *, created: Sequence[StoredBlock], removed: list[str]) -> list[Change]:
        """The changes that create and attach new blocks, and detach removed ones. Detached blocks remain in the table, except
        private blocks of the conversation.
        """
        if not created and not removed:
            return []
        agent = work.agent
        changes, removed = self._let_go(work, writing, removed), [block_id for block_id in removed if block_id in agent.block_ids]
        remaining = [block_id for block_id in agent.block_ids if block_id not in removed]
        if created or removed:
            after = agent.model_copy(update={"block_ids": [*remaining, *(block.id for block in created)]})
            changes += self._agents.change(agent, after, writing.token, Edit(writing.by, at=writing.now))
        for block in created:
            edit = Edit(_with_tools(writing.by, work, block.label or ""), at=writing.now)
            changes += [*self._blocks.create(block, writing.token, edit), self._blocks.attach(block.id, agent.id)]
        return [*changes, *(self._blocks.detach(block_id, agent.id) for block_id in removed)]

    def _let_go(self, work: StepWork, writing: _Writing, removed: list[str]) -> list[Change]:
        """The changes that delete the conversation's private blocks among the removed ones. The shared block that a private block
        copies stays hidden in the conversation.
        """
        record = work.record
        private = [block for block in work.blocks if record and block.id in removed and block.id in record.isolated.values()]
        if record is None or not private:
            return []
        isolated = {origin: "" if copy in removed else copy for origin, copy in record.isolated.items()}
        changes = self._records.change(record, record.model_copy(update={"isolated": isolated}), writing.token)
        for block in private:
            changes += self._blocks.delete(block, writing.now, writing.token, Edit(writing.by))
        return changes


def author_of(work: StepWork, step_id: str | None) -> Author:
    """The run of a step as the author of its changes."""
    run = work.state.run
    kind = work.agent.agent_type.value
    return Author(source="run", key_id=run.key_id, run_id=run.id, step_id=step_id, agent_id=run.agent_id, agent_type=kind)


def _with_tools(by: Author, work: StepWork, name: str) -> Author:
    return by.model_copy(update={"tools": work.effects.tools_of(name)})


def _fact(work: StepWork, block: Block, change: Literal["created", "updated", "detached"]) -> MemoryChanged:
    run = work.state.run
    return MemoryChanged(block.id, block.label, change, "run", run.agent_id, (run.agent_id,), run.id)
